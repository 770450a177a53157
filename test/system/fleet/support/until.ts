/** Looks again and again until it is so. Fails when it never is. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const last = performance.now() + 40_000;
  while (!(await isSo())) {
    if (performance.now() > last) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
