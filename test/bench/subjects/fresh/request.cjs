/** The path, and the request, that validate a code. */
exports.PATH = '/api/purchases/validation';
exports.requestOf = (code) => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams({ api_key: 'bench', purchase_code: code }).toString(),
});
