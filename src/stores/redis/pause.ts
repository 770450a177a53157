/** A wait that can be ended early. Its timer holds no process that has nothing else to do. */
export class Pause {
  #end: () => void = () => {};

  /** Waits that long, or until {@link end}. One wait at a time. */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      timer.unref();
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  end(): void {
    this.#end();
  }
}

/** Waits for an answer, but not longer than that. A late one is listened to, and ignored. */
export async function endingAfter<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
  const pause = new Pause();
  const late = pause.wait(milliseconds).then(() => {
    throw new Error('no answer');
  });
  // The one that loses is nobody's any more.
  late.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    pause.end();
  }
}
