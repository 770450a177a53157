import { initTRPC, TRPCError } from '@trpc/server';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';
import { listen, runShop } from './shop.mjs';

runShop(async ({ decide }) => {
  const t = initTRPC.context().create({
    errorFormatter: ({ shape, error }) => ({ ...shape, ...error.cause?.problem }),
  });
  const guarded = t.procedure.use(async ({ ctx: { req }, next }) => {
    const { status, json } = await decide(req.headers['x-purchase-code'], req.socket.remoteAddress);
    if (status === 200) return next({ ctx: json });
    const cause = Object.assign(new Error(json.title), { problem: json });
    throw new TRPCError({ code: 'FORBIDDEN', message: json.title, cause });
  });
  const router = t.router({ download: guarded.query(({ ctx: { item } }) => ({ item })) });
  const handler = createHTTPHandler({
    router,
    createContext: ({ req }) => ({ req }),
    responseMeta: ({ errors: [error] }) => ({ status: error?.cause?.problem.status ?? 200 }),
  });
  return { ...(await listen(handler)), without: ['login', 'middleware', 'headers'] };
});
