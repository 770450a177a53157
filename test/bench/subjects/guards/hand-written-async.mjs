import handWritten from './hand-written-private.mjs';

/** The same, behind one `await`, as a guard has it that can ask a service or a store. */
export default async (options) => {
  const { middleware, itemOf } = await handWritten(options);
  return {
    async middleware(req, res, next) {
      await undefined;
      middleware(req, res, next);
    },
    itemOf,
  };
};
