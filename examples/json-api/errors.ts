import type { ErrorRequestHandler, RequestHandler } from 'express';

/** An error that already says what a visitor is told. */
export class PublicError extends Error {
  override readonly name: string = 'PublicError';

  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
  ) {
    super(detail);
  }
}

/** A login that did not succeed, with the strategy's reason. */
export class LoginFailure extends PublicError {
  override readonly name = 'LoginFailure';

  constructor(info: object | undefined, status: unknown) {
    const { message } = (info ?? {}) as { message?: unknown };
    super(
      typeof status === 'number' ? status : 401,
      'You are not logged in',
      typeof message === 'string' ? message : 'The login did not succeed. Please try again.',
    );
  }
}

export const notFound: RequestHandler = (_req, _res, next) =>
  next(new PublicError(404, 'Not found', 'There is nothing at this address.'));

/**
 * Behind the package's errorHandler, in the same form: problem+json (RFC 9457). A failed login happens
 * in a browser, which is on its way from the marketplace: it gets a page.
 */
export const lastWord: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (res.headersSent) return next(error);
  const problem = problemOf(error);
  if (problem.status >= 500) console.error(`${req.method} ${req.path}:`, error);
  res.status(problem.status).vary('Accept');
  if (error instanceof LoginFailure && req.accepts(['json', 'html']) === 'html') {
    res.type('html').send(loginFailurePage(error));
    return;
  }
  res.type('application/problem+json').send(JSON.stringify(problem));
};

function problemOf(error: unknown) {
  if (error instanceof PublicError) {
    const { status, title, detail } = error;
    return { type: 'about:blank', title, status, detail };
  }
  // Express's own errors, a path that cannot be decoded for one, carry a 4xx status. Their message is
  // for the log.
  const { status } = (error ?? {}) as { status?: unknown };
  return typeof status === 'number' && status >= 400 && status < 500
    ? { type: 'about:blank', title: 'The request could not be read', status }
    : { type: 'about:blank', title: 'Something went wrong on our side', status: 500 };
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

// A link and no redirect: with cookies blocked, a redirect to the login would go round for ever.
const loginFailurePage = ({ title, detail }: LoginFailure): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(detail)}</p>
<p><a class="button" href="/login">Log in again</a> <a href="/">To the front page</a></p>
</main>
</body>
</html>
`;
