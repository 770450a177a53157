import { FORM, formOf } from './form.mjs';

export default async ({ url }) =>
  async (code) => {
    const response = await fetch(url, { method: 'POST', headers: FORM, body: formOf(code) });
    return (await response.json()).data.purchase;
  };
