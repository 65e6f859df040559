/**
 * Estimates the clock of the database, which all nodes share. Between two answers of the server it uses a monotonic
 * clock, so a wrong or changed clock of this machine has no effect.
 */
export class ServerClock {
  /** The difference between both clocks. */
  #ahead: number | null = null;

  /** `there` is a time of the server that it read between two times of `performance.now()`. */
  read(there: number, before: number, after: number): void {
    const [least, most] = [there - after, there - before];
    // An estimate that this answer allows stays: a slow answer would only make it worse.
    this.#ahead = this.#ahead === null ? (least + most) / 2 : Math.min(most, Math.max(least, this.#ahead));
  }

  now(): number {
    return this.#ahead === null ? Date.now() : Math.floor(performance.now() + this.#ahead);
  }
}
