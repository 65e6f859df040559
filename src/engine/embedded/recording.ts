/** What is on record of a run, to be given back in the order it ended. */
import type { Json } from "../../contract/run.ts";
import type { StepName, StepRow } from "../../store/store.ts";

export const checkpointMethod = "checkpoint";

export type Checkpoint = {
  /** The epoch it opens. */
  epoch: number;
  payload: Json;
};

export class Recording {
  readonly #ended: readonly StepRow[];
  readonly #left = new Map<string, StepRow>();
  readonly #begun = new Map<string, StepRow>();
  readonly lastCheckpoint: Checkpoint | null;
  #next = 0;

  constructor(rows: readonly StepRow[]) {
    this.#ended = rows.filter((row) => row.ended !== null).sort((a, b) => (a.ended ?? 0) - (b.ended ?? 0));
    for (const row of this.#ended) this.#left.set(nameText(row), row);
    for (const row of rows) if (row.ended === null) this.#begun.set(nameText(row), row);
    const last = this.#ended.findLast((row) => row.method === checkpointMethod && row.status === "ok");
    this.lastCheckpoint =
      last === undefined ? null : { epoch: last.epoch + 1, payload: JSON.parse(last.result ?? "null") as Json };
  }

  /** Nothing on record was left unasked. */
  get isUsedUp(): boolean {
    return this.#left.size === 0;
  }

  /** The place of the step that ended last; 0 when none has. */
  get lastPlace(): number {
    return this.#ended.at(-1)?.ended ?? 0;
  }

  get rest(): StepRow[] {
    return [...this.#left.values()];
  }

  /** The step that ended next; null when none is left. What belongs to a branch that is over is passed over. */
  next(isOver: (scope: string) => boolean): StepRow | null {
    for (; this.#next < this.#ended.length; this.#next++) {
      const row = this.#ended[this.#next];
      if (row === undefined || !this.#left.has(nameText(row))) continue;
      if (!isOver(row.scope)) return row;
      this.#left.delete(nameText(row));
    }
    return null;
  }

  take(name: string): StepRow | null {
    const row = this.#left.get(name) ?? null;
    this.#left.delete(name);
    return row;
  }

  /** A step that was begun and has no end. */
  begun(name: string): StepRow | null {
    return this.#begun.get(name) ?? null;
  }

  /** Steps of earlier epochs need not be asked for, but for those that have been. */
  jumpTo(epoch: number, isAsked: (name: string) => boolean): void {
    for (const [name, row] of this.#left) if (row.epoch < epoch && !isAsked(name)) this.#left.delete(name);
  }
}

export function nameText({ epoch, scope, key, occurrence }: Omit<StepName, "run">): string {
  return `${epoch}|${scope}|${key}|${occurrence}`;
}
