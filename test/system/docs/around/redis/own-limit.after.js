const ask = (code) =>
  keyApi
    .validatePurchase(code, { client: '192.0.2.1' })
    .catch(({ code, retryAfter }) => `${code} ${Math.ceil(retryAfter)}`);
const office = await Promise.all(Array.from({ length: 15 }, (_, n) => ask(`AAAA-${n}`)));
await keyApi.close();
console.log(office.filter((answer) => answer === null).length, office.at(-1));
