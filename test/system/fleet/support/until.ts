/** Looks again and again until it is so. Fails when it never is. */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  milliseconds = 10_000,
): Promise<number> {
  const begun = performance.now();
  while (!(await isSo())) {
    if (performance.now() - begun > milliseconds) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return performance.now() - begun;
}
