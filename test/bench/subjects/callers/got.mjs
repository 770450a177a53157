import { Agent } from 'node:http';
import got from 'got';
import { FORM, formOf } from './form.mjs';

export default async ({ url }) => {
  const client = got.extend({ agent: { http: new Agent({ keepAlive: true }) }, headers: FORM });
  return async (code) => (await client.post(url, { body: formOf(code) }).json()).data.purchase;
};
