import { Agent } from 'node:http';
import axios from 'axios';
import { FORM, formOf } from './form.mjs';

export default async ({ url }) => {
  const client = axios.create({ httpAgent: new Agent({ keepAlive: true }), headers: FORM });
  return async (code) => (await client.post(url, formOf(code))).data.data.purchase;
};
