/** On every answer of the console, so that `marketgate doctor` knows a sandbox. In small letters. */
export const SANDBOX_HEADER = 'x-marketgate-sandbox';
