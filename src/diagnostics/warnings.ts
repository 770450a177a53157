/** Mistakes of a setup that nothing else shows: each is a warning once per process. */
export const WARNINGS = {
  MARKETGATE_UNEXPECTED_X_FORWARDED_FOR:
    'a request came with X-Forwarded-For, but Express\'s "trust proxy" is not set: all visitors behind the proxy count as one for the guess limit; set app.set("trust proxy", …) to what stands in front of the app',
  MARKETGATE_PERMISSIVE_TRUST_PROXY:
    'Express\'s "trust proxy" is true: anybody can choose the address that the guess limit counts; set it to the number or the addresses of your proxies',
  MARKETGATE_CREATED_IN_HANDLER:
    'a guard was made inside a request handler: its options are checked for each request, and a guess limit of its own forgets every count; make it once, when the app starts',
  MARKETGATE_NO_BODY_PARSER:
    'the purchase code is looked for in req.body, but no body parser has run; put express.urlencoded() or express.json() before the guard',
  MARKETGATE_NO_SESSION:
    'the purchase code is looked for in req.session, but there is none; put the session middleware before the guard',
  MARKETGATE_GUESSES_NOT_SHARED:
    'Redis could not count failed attempts, so each process counts for itself; look at the connection, and whether this Redis user may run scripts (EVAL)',
} as const;

/** The code of a warning, as in `npx marketgate explain CODE`. */
export type WarningCode = keyof typeof WARNINGS;

// The two builds of the package, and two versions of it, are one process: each warns for all of them.
const GIVEN = Symbol.for('marketgate.warnings');

/** Emits a process warning, unless this process has had it. */
export function warnOnce(code: WarningCode): void {
  const shared = globalThis as { [GIVEN]?: Set<string> };
  shared[GIVEN] ??= new Set();
  if (shared[GIVEN].has(code)) return;
  shared[GIVEN].add(code);
  process.emitWarning(`${WARNINGS[code]} (npx marketgate explain ${code})`, {
    type: 'MarketgateWarning',
    code,
  });
}
