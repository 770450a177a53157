import { checkKeyService } from './doctor-key-api.js';
import { checkLoginService } from './doctor-login-api.js';
import { checkRedis } from './doctor-redis.js';
import type { Finding, Report } from './finding.js';
import type { Settings } from './settings.js';
import { colorsOf, printable, type Terminal, table } from './terminal.js';

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
  const spin = (text: string) => (json ? undefined : terminal.spin?.(text));
  let stop: (() => void) | undefined;
  const look = async (text: string, check: (report: Report) => Promise<void>): Promise<void> => {
    stop = spin(text);
    try {
      await check((name, status, detail) => {
        const finding: Finding = { check: name, status, detail: printable(detail) };
        findings.push(finding);
        if (json) return;
        // The line must not be written into the spinner's.
        stop?.();
        terminal.out(line(finding, terminal));
        stop = spin(text);
      });
    } finally {
      stop?.();
    }
  };
  await look('Looking at the key API', (report) => checkKeyService(settings, report));
  await look('Looking at the login', (report) => checkLoginService(settings, report));
  await look('Looking at Redis', (report) => checkRedis(settings, report));
  const isWell = findings.every(({ status }) => status !== 'wrong');
  if (json) terminal.out(JSON.stringify({ ok: isWell, findings }, null, 2));
  return isWell ? 0 : 1;
}

/** Wide enough for the longest name of a check. */
const WIDTH = 'login certificate'.length;

function line({ check, status, detail }: Finding, terminal: Terminal): string {
  const colors = colorsOf(terminal);
  const marks = {
    ok: colors.green('ok     '),
    warning: colors.yellow('warning'),
    wrong: colors.red('wrong  '),
    skipped: colors.dim('skipped'),
  };
  return table([[marks[status], check.padEnd(WIDTH), detail]]);
}
