import handWritten from './hand-written.mjs';

/** The same, with the two headers that keep a customer's file out of shared caches. */
export default async (options) => {
  const { middleware, itemOf } = await handWritten(options);
  return {
    middleware(req, res, next) {
      middleware(req, res, () => {
        res.setHeader('Cache-Control', 'private');
        res.setHeader('Vary', 'X-Purchase-Code');
        next();
      });
    },
    itemOf,
  };
};
