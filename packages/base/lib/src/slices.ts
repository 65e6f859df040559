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
