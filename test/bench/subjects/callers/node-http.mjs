import { Agent, request } from 'node:http';
import { FORM, formOf } from './form.mjs';

export default async ({ url }) => {
  const agent = new Agent({ keepAlive: true });
  return (code) =>
    new Promise((resolve, reject) => {
      const body = formOf(code);
      const headers = { ...FORM, 'content-length': Buffer.byteLength(body) };
      const req = request(url, { method: 'POST', agent, headers }, (res) => {
        let text = '';
        res.setEncoding('utf8');
        res.on('data', (chunk) => {
          text += chunk;
        });
        res.on('end', () => resolve(JSON.parse(text).data.purchase));
      });
      req.on('error', reject).end(body);
    });
};
