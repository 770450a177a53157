import { onTestFinished, vi } from 'vitest';

const GIVEN = Symbol.for('marketgate.warnings');

/** The warnings that the package gives from now on, with their text, as in a process that has given none yet. */
export function collectWarnings(): { code: string; message: string }[] {
  const warnings: { code: string; message: string }[] = [];
  forgetWarnings();
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation((...args: unknown[]) => {
    const { code } = Object(args[1]) as { code?: string };
    warnings.push({ code: String(code), message: String(args[0]) });
  });
  onTestFinished(() => {
    emit.mockRestore();
    forgetWarnings();
  });
  return warnings;
}

/**
 * The codes of the warnings that the package gives from now on, as in a process that has given none yet.
 * They are not printed.
 */
export function hearWarnings(): string[] {
  const codes: string[] = [];
  forgetWarnings();
  const emit = vi.spyOn(process, 'emitWarning').mockImplementation((...args: unknown[]) => {
    codes.push(String((args[1] as { code?: string } | undefined)?.code));
  });
  onTestFinished(() => {
    emit.mockRestore();
    forgetWarnings();
  });
  return codes;
}

const forgetWarnings = (): void => {
  (globalThis as { [GIVEN]?: Set<string> })[GIVEN]?.clear();
};
