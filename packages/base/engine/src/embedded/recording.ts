/** The recorded steps of a run, in the order in which they ended. */
import type { Json } from "@aegis/contract/run.ts";
import type { StepName, StepRow } from "@aegis/store/store.ts";
import { isHeld } from "../engine.ts";

export const checkpointMethod = "checkpoint";

export type Checkpoint = {
  /** The epoch that it opens. */
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

  /** True if the body has requested every recorded step. */
  get isUsedUp(): boolean {
    return this.#left.size === 0;
  }

  /** The place of the step that ended last; 0 if none has ended. */
  get lastPlace(): number {
    return this.#ended.at(-1)?.ended ?? 0;
  }

  get rest(): StepRow[] {
    return [...this.#left.values()];
  }

  /** Returns the next step in order of ending, or null if none is left. Skips steps of branches that have ended. */
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

  /** Steps of the current epoch that started but have no recorded end. */
  get open(): StepRow[] {
    const epoch = this.lastCheckpoint?.epoch ?? 0;
    return [...this.#begun.values()].filter((row) => row.epoch >= epoch && !isHeld(row));
  }

  /** Returns a step that started but has no recorded end. */
  begun(name: string): StepRow | null {
    return this.#begun.get(name) ?? null;
  }

  /** Discards a step that started. If the body requests it again, it starts anew. */
  giveUp(name: string): void {
    this.#begun.delete(name);
  }

  /** Steps of earlier epochs need not be requested, except for those that already were. */
  jumpTo(epoch: number, isAsked: (name: string) => boolean): void {
    for (const [name, row] of this.#left) if (row.epoch < epoch && !isAsked(name)) this.#left.delete(name);
  }
}

export function nameText({ epoch, scope, key, occurrence }: Omit<StepName, "run">): string {
  return `${epoch}|${scope}|${key}|${occurrence}`;
}
