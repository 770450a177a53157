import { onTestFinished, vi } from 'vitest';

const GIVEN = Symbol.for('marketgate.warnings');

/** The warnings that the package gives from now on, as in a process that has given none yet. They are not printed. */
function listen<T>(take: (code: string, message: string) => T): T[] {
  const heard: T[] = [];
  const forget = (): void => (globalThis as { [GIVEN]?: Set<string> })[GIVEN]?.clear();
  forget();
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation((...args: unknown[]) => {
    const { code } = Object(args[1]) as { code?: string };
    heard.push(take(String(code), String(args[0])));
  });
  onTestFinished(() => {
    emit.mockRestore();
    forget();
  });
  return heard;
}

/** The codes of the warnings. */
export const hearWarnings = () => listen((code) => code);

/** The warnings with their text. */
export const collectWarnings = () => listen((code, message) => ({ code, message }));
