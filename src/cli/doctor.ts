import { checkKeyService } from './doctor-key-api.js';
import { checkLoginService } from './doctor-login-api.js';
import { checkRedis } from './doctor-redis.js';
import type { Settings } from './settings.js';
import { colorsOf, printable, type Terminal, table } from './terminal.js';

/** How one thing is. `skipped`: it could not be looked at, because something before it is wrong. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'wrong' | 'skipped';
  /** What was found, and if it is wrong what to do. */
  readonly detail: string;
}

/** A check, in words, that adds to what was found. */
export type Report = (check: string, status: Finding['status'], detail: string) => void;

/**
 * `marketgate doctor`: looks at each thing apart, in the order in which they depend on each other.
 * @returns 0 when nothing is wrong, else 1.
 */
export async function doctor(
  settings: Settings,
  { json }: { json: boolean },
  terminal: Terminal,
): Promise<number> {
  const findings: Finding[] = [];
  const report: Report = (check, status, detail) => {
    const finding: Finding = { check, status, detail: printable(detail) };
    findings.push(finding);
    if (!json) terminal.out(line(finding, terminal));
  };
  await checkKeyService(settings, report);
  await checkLoginService(settings, report);
  await checkRedis(settings, report);
  const isWell = findings.every(({ status }) => status !== 'wrong');
  if (json) terminal.out(JSON.stringify({ ok: isWell, findings }, null, 2));
  return isWell ? 0 : 1;
}

function line({ check, status, detail }: Finding, terminal: Terminal): string {
  const colors = colorsOf(terminal);
  const marks = {
    ok: colors.green('ok     '),
    wrong: colors.red('wrong  '),
    skipped: colors.dim('skipped'),
  };
  return table([[marks[status], check.padEnd(14), detail]]);
}
