import { isNumberFrom, onOff, type Switch, type Switches } from '../switches.js';
import type { FaultSettings } from './faults.js';

/** Header values that a program or a form may choose: Node refuses to send anything else. */
const isHeaderValue = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21-\x7e][\x20-\x7e]*$/.test(value);

type Checks = Readonly<Record<string, (value: unknown) => boolean>>;

/** Whether a value is an object that holds nothing but these parts, each as it should be. */
function hasParts(checks: Checks, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(
    ([name, part]) => part === undefined || (Object.hasOwn(checks, name) && checks[name]?.(part)),
  );
}

const REDIRECT: Checks = {
  location: isHeaderValue,
  status: (value) => [301, 302, 303, 307, 308].some((status) => status === value),
};
const RATE_LIMIT: Checks = {
  retryAfter: (value) => isNumberFrom(0, value),
  form: (value) => value === 'seconds' || value === 'http-date',
};

const ENDPOINTS = [
  '/api/account/details',
  '/api/items/all',
  '/api/items/item',
  '/api/purchases/validation',
  '/api/authorize',
  '/api/get_user_info',
];

const off = { label: 'off', value: false };

/** A switch that counts; 0 is off. */
const amount = (about: string, unit: string, most = Number.POSITIVE_INFINITY): Switch => ({
  about,
  unit,
  initial: 0,
  accepts: (value) => isNumberFrom(0, value) && value <= most,
  expected: Number.isFinite(most) ? `a number from 0 to ${most}` : `a number of ${unit}`,
});

/** The switches of {@link SandboxFaults}. */
export const FAULT_SWITCHES: Switches<FaultSettings> = {
  latency: amount('Waits before anything happens', 'milliseconds'),
  hang: onOff('Never answers'),
  redirect: {
    about: 'Redirects to another host',
    initial: false,
    accepts: (value) =>
      typeof value === 'boolean' || isHeaderValue(value) || hasParts(REDIRECT, value),
    expected: 'true, false, a location or { location, status }',
    choices: [
      off,
      { label: '302', value: true },
      { label: '307, which repeats a POST', value: { status: 307 } },
    ],
  },
  rateLimit: {
    about: 'Answers 429 with Retry-After',
    initial: false,
    accepts: (value) =>
      typeof value === 'boolean' || isNumberFrom(0, value) || hasParts(RATE_LIMIT, value),
    expected: 'true, false, a number of seconds or { retryAfter, form }',
    choices: [
      off,
      { label: '30 seconds', value: true },
      { label: '30 seconds, as a date', value: { form: 'http-date' } },
      { label: '1 second', value: 1 },
    ],
  },
  errorRate: amount('Share of requests answered 500, spread evenly', '0 to 1', 1),
  html: onOff('An HTML page with HTTP 200'),
  contentType: {
    about: 'A wrong content type, the body right',
    initial: false,
    accepts: (value) => typeof value === 'boolean' || isHeaderValue(value),
    expected: 'true, false or a content type',
    choices: [
      off,
      { label: 'text/html', value: true },
      { label: 'text/plain', value: 'text/plain' },
      { label: 'application/octet-stream', value: 'application/octet-stream' },
    ],
  },
  bom: onOff('A byte order mark ahead of the JSON'),
  warnings: onOff('Warning text ahead of the JSON'),
  oversize: amount('Fills the answer up with blanks to this size', 'bytes'),
  truncated: onOff('Cuts the body in the middle, in a complete answer'),
  gzipBomb: {
    about: 'A small gzip answer that unpacks to a large one',
    initial: false,
    accepts: (value) => typeof value === 'boolean' || isNumberFrom(1, value),
    expected: 'true, false or a number of bytes',
    choices: [
      off,
      { label: '64 MiB', value: true },
      { label: '256 MiB', value: 256 * 1024 * 1024 },
    ],
  },
  endless: {
    about: 'A body that never ends',
    initial: false,
    accepts: (value) => typeof value === 'boolean' || value === 'slow',
    expected: 'true, false or "slow"',
    choices: [
      off,
      { label: 'as fast as it is read', value: true },
      { label: 'one byte at a time', value: 'slow' },
    ],
  },
  reset: onOff('Resets the connection in the middle of the body'),
  only: {
    about: 'Where all of these hit',
    initial: undefined,
    accepts: (value) =>
      value === 'key-api' ||
      value === 'login-api' ||
      (typeof value === 'string' && value.startsWith('/')),
    expected: "'key-api', 'login-api' or a path",
    choices: [
      { label: 'everywhere', value: undefined },
      { label: 'the key API', value: 'key-api' },
      { label: 'the login API', value: 'login-api' },
      ...ENDPOINTS.map((path) => ({ label: path, value: path })),
    ],
  },
  times: {
    about: 'How many requests they hit before they end; empty is no limit',
    unit: 'requests',
    initial: undefined,
    accepts: (value) => isNumberFrom(1, value),
    expected: 'a number of requests, at least 1',
  },
};
