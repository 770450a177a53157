import ky from 'ky';
import { FORM, formOf } from './form.mjs';

export default async ({ url }) =>
  async (code) =>
    (await ky.post(url, { headers: FORM, body: formOf(code) }).json()).data.purchase;
