/** Messages sent to a harness during a turn, until the harness confirms each one. */

export class Additions {
  readonly #waiting = new Map<string, (taken: boolean) => void>();

  /** Resolves to true once the harness works on the message, false if it was withdrawn. */
  add(id: string): Promise<boolean> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  settle(id: string, taken: boolean): void {
    this.#waiting.get(id)?.(taken);
    this.#waiting.delete(id);
  }

  /** The turn has ended. `withdraw` takes a message back and returns whether that was still possible. */
  async close(withdraw: (id: string) => Promise<boolean>): Promise<void> {
    for (const id of [...this.#waiting.keys()]) this.settle(id, !(await withdraw(id)));
  }

  /** The harness has lost the messages that it had not accepted. */
  drop(): void {
    for (const id of [...this.#waiting.keys()]) this.settle(id, false);
  }
}
