/** The body of the request, as every caller sends it. */
export const formOf = (code) =>
  new URLSearchParams({ api_key: 'bench', purchase_code: code }).toString();

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
