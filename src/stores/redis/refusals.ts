/** Codes of Redis that end by themselves, and those that an operator must see to. */
const PASSING =
  'ASK|BUSY|CLUSTERDOWN|CROSSSLOT|LOADING|MASTERDOWN|MOVED|TRYAGAIN|UNBLOCKED|WRONGTYPE';
const LASTING = 'MISCONF|NOAUTH|NOPERM|NOREPLICAS|OOM|READONLY|WRONGPASS';
/** Begins the message; up to Redis 6.2, a script's error has it in the middle. */
const CODE = new RegExp(`(?:^|: -?)(?:(${LASTING})|(${PASSING}))(?= )`);

/**
 * What Redis answers, without the rest of its message, in which there can be a key or a value. `isLasting`: it refuses
 * until somebody changes its settings. `undefined`: it was no answer of Redis.
 */
export function refusalOf(error: unknown): { text: string; isLasting: boolean } | undefined {
  const message = String(Object(error).message);
  const [, command = /\bunknown command '?`?([a-z]{1,20})\b/i.exec(message)?.[1]] =
    /\bto run the '([a-z|]{1,40})' command/i.exec(message) ?? [];
  if (command !== undefined) {
    const why = /unknown command/.test(message) ? 'it has no' : 'NOPERM: this user may not run';
    return { text: `${why} ${command.toUpperCase()}`, isLasting: true };
  }
  const [, lasting, passing] = CODE.exec(message) ?? [];
  // In a script, Redis up to 7.0 names neither the code nor the command.
  const isScript = /executing the script can't|ACL failure in script/.test(message);
  if (lasting === 'NOPERM' || isScript) {
    const [, what] = /\b(key|channel)s?\b/.exec(message.replace(/ script: .*/, '')) ?? [];
    const denied = what ? `use this ${what}` : 'run a command of this script';
    return { text: `NOPERM: this user may not ${denied}`, isLasting: true };
  }
  const text = lasting ?? passing;
  return text === undefined ? undefined : { text, isLasting: lasting !== undefined };
}
