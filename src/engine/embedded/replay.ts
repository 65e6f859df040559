/**
 * Gives a body what is on record, in the order it ended, and performs nothing before all of it is given. A body that asks
 * for something else while steps on record are left has diverged.
 */
import type { Parked } from "../../contract/run.ts";
import type { StepRow } from "../../store/store.ts";
import { type Ask, answer, describeStep } from "./ask.ts";
import { nameText, type Recording } from "./recording.ts";
import { Turns } from "./turns.ts";

export type ReplayOptions = {
  recording: Recording;
  /** Set aside what is on record and not asked for. */
  force: boolean;
  /** How long a body may do something of its own before a step on record counts as not asked for. */
  graceMs: number;
  /** A body may do in another way what is on record: asked only when it does. */
  mayDiffer: () => boolean;
  isCut: (scope: string) => boolean;
  perform: (ask: Ask) => void;
  /** All of the record was given, but for what was set aside. */
  onReplayed: (setAside: readonly StepRow[]) => void;
  onDiverged: (parked: Parked) => void;
};

export class Replay {
  readonly #options: ReplayOptions;
  readonly #turns = new Turns(() => this.#quiet());
  readonly #waiting = new Map<string, Ask>();
  #grace: NodeJS.Timeout | null = null;
  #isLive: boolean;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#isLive = options.recording.isUsedUp;
  }

  /** What is asked for from now on is performed. */
  get isLive(): boolean {
    return this.#isLive;
  }

  take(ask: Ask): void {
    if (!this.#isLive) {
      this.#waiting.set(nameText(ask.name), ask);
      this.#turns.wake();
      return;
    }
    // What a body that went back to a checkpoint did not ask for at first, it may still ask for.
    const row = this.#options.recording.take(nameText(ask.name));
    if (row) this.give(ask, row);
    else this.#options.perform(ask);
  }

  give(ask: Ask, row: StepRow): void {
    this.#turns.give(() => answer(ask, row));
  }

  /** The body went to the beginning of this epoch by itself. */
  jumpTo(epoch: number): void {
    this.#options.recording.jumpTo(epoch, (name) => this.#waiting.has(name));
    this.#turns.wake();
  }

  /** The body is over. False when it left something on record unasked, which is then told. */
  finish(): boolean {
    if (this.#isLive) return true;
    this.#waiting.clear();
    const row = this.#options.recording.next(this.#options.isCut);
    if (row !== null && !this.#options.mayDiffer()) {
      this.#diverged(row, null);
      return false;
    }
    this.#goLive();
    return true;
  }

  stop(): void {
    if (this.#grace) clearTimeout(this.#grace);
    this.#turns.stop();
  }

  /** The body has done all it can with what it was given. */
  #quiet(): void {
    if (this.#grace) clearTimeout(this.#grace);
    this.#grace = null;
    if (this.#isLive) return;
    this.#forgetCut();
    const { recording, isCut, mayDiffer } = this.#options;
    const row = recording.next(isCut);
    if (row === null) {
      this.#goLive();
      return;
    }
    const ask = this.#waiting.get(nameText(row));
    if (ask) {
      this.#waiting.delete(nameText(row));
      recording.take(nameText(row));
      this.give(ask, row);
      return;
    }
    const [other] = this.#waiting.values();
    // Without a question the body is busy with something of its own: it will ask, or end.
    if (other === undefined) return;
    if (mayDiffer()) this.#goLive();
    else this.#grace = setTimeout(() => this.#diverged(row, other), this.#options.graceMs);
  }

  /** What a branch asked for before it was cut is not wanted any more. */
  #forgetCut(): void {
    for (const [name, ask] of this.#waiting) if (ask.scope.over) this.#waiting.delete(name);
  }

  #goLive(): void {
    this.#isLive = true;
    this.#forgetCut();
    const asks = [...this.#waiting.values()];
    this.#options.onReplayed(this.#setAside());
    this.#waiting.clear();
    for (const ask of asks) this.take(ask);
  }

  /** A forced resume forgets what is on record and not asked for. */
  #setAside(): StepRow[] {
    const { force, recording } = this.#options;
    const rest = force ? recording.rest.filter((row) => !this.#waiting.has(nameText(row))) : [];
    for (const row of rest) recording.take(nameText(row));
    return rest;
  }

  #diverged(row: StepRow, instead: Ask | null): void {
    const recorded = describeStep(row, row.label);
    const asked = instead === null ? null : describeStep(instead.name, instead.spec.label);
    const found = asked === null ? "its body ended without it" : `it asked for ${asked}`;
    const detail = `expected ${recorded}, which is on record, but ${found}`;
    this.#options.onDiverged({ reason: "diverged", detail, recorded, asked, checkpoints: row.epoch });
  }
}
