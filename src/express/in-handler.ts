import { warnOnce } from '../diagnostics.js';

/** How the frames of a router are called that runs a handler: of Express 4, and of Express 5. */
const ROUTER = /\bLayer\.(?:handle_request|handleRequest|handle \[as handle_request\])/;
/** More than Node keeps by default: an app's own functions can stand between its handler and a guard. */
const FRAMES = 50;

/** Warns once when the guard that is being made is made by a handler, as each request would make one. */
export function warnIfInHandler(): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const { stack } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  if (ROUTER.test(stack ?? '')) warnOnce('MARKETGATE_CREATED_IN_HANDLER');
}
