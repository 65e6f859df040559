/** Detects a model that repeats the same call. */

const correctAt = 5;
const endAt = 8;

export class RepeatGuard {
  #last = "";
  #count = 0;

  /** Counts a call. `correct`: do not run it and tell the model; `end`: end the turn. */
  judge(name: string, input: unknown): "run" | "correct" | "end" {
    const call = `${name} ${JSON.stringify(input)}`;
    this.#count = call === this.#last ? this.#count + 1 : 1;
    this.#last = call;
    if (this.#count >= endAt) return "end";
    return this.#count >= correctAt ? "correct" : "run";
  }

  get count(): number {
    return this.#count;
  }
}
