/** Lets a Fastify app listen, and answer with problems. */
export async function serveFastify(app, problemOf) {
  app.setErrorHandler((error, _request, reply) => {
    const problem = problemOf(error);
    if (problem === undefined) return reply.send(error);
    if (problem.retryAfter) reply.header('Retry-After', problem.retryAfter);
    return reply.code(problem.status).type('application/problem+json').send(problem);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: app.server.address().port, close: () => app.close() };
}
