/** Splits long synchronous work into slices, so that it does not block the event loop. */
const sliceMs = 8;

/** Yields to the event loop at the end of a slice. */
export class Slices {
  #until = performance.now() + sliceMs;

  async rest(): Promise<void> {
    if (performance.now() < this.#until) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#until = performance.now() + sliceMs;
  }
}

/** Runs short jobs of many callers one at a time and in order. Together they get one slice per turn of the event loop. */
export class TakingTurns {
  readonly #slices = new Slices();
  readonly #waiting: (() => Promise<void>)[] = [];
  #working = false;

  run<T>(job: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.push(() => job().then(resolve, reject));
    if (!this.#working) void this.#work();
    return promise;
  }

  async #work(): Promise<void> {
    this.#working = true;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await this.#slices.rest();
      await next();
    }
    this.#working = false;
  }
}
