/** Messages that were sent to a harness in the middle of a turn, each until the harness says that it has it. */

export class Additions {
  readonly #waiting = new Map<string, (taken: boolean) => void>();

  /** Resolves true once the harness works on it, false when it was withdrawn. */
  add(id: string): Promise<boolean> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  settle(id: string, taken: boolean): void {
    this.#waiting.get(id)?.(taken);
    this.#waiting.delete(id);
  }

  /** The turn is over. `withdraw` takes a message back and says whether that was still possible. */
  async close(withdraw: (id: string) => Promise<boolean>): Promise<void> {
    for (const id of [...this.#waiting.keys()]) this.settle(id, !(await withdraw(id)));
  }

  /** The harness has lost what it had not taken. */
  drop(): void {
    for (const id of [...this.#waiting.keys()]) this.settle(id, false);
  }
}
