import express from 'express';

const storedCodes = ['6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'];
const app = express();
app.use((req, _res, next) => {
  const id = req.get('x-user');
  if (id) req.user = { id };
  next();
});
