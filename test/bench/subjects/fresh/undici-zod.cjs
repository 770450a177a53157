const { Pool } = require('undici');
const { z } = require('zod');
const schemaOf = require('./purchase-schema.cjs');
const report = require('./report.cjs');
const { PATH, requestOf } = require('./request.cjs');

const [, , origin, code] = process.argv;
const schema = schemaOf(z);
new Pool(origin)
  .request({ path: PATH, ...requestOf(code) })
  .then(({ body }) => body.json())
  .then((sent) => report(schema.parse(sent).data.purchase));
