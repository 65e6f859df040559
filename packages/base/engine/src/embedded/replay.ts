/**
 * Gives a body the recorded results in the order in which the steps ended, and performs nothing before all of them are
 * delivered. A body that requests anything else while recorded steps are left has diverged. So has a body whose code has
 * changed and that does not request a step which has started: what that step waits for would have no reader.
 */
import type { ParkedRun } from "@aegis/contract/run.ts";
import type { StepRow } from "@aegis/store/store.ts";
import { EventLoopQueue } from "./event-loop.ts";
import { nameText, type Recording } from "./recording.ts";
import { answer, describeStep, type StepRequest } from "./step.ts";

export type ReplayOptions = {
  recording: Recording;
  /** Discard recorded steps that the body does not request. */
  force: boolean;
  /** How long a body may work on its own before a recorded step counts as not requested. */
  graceMs: number;
  /** Whether the body may differ from the recorded steps. Called only if it does. */
  mayDiffer: () => boolean;
  /** The code is not the one that started the open steps. */
  isChanged: boolean;
  isCut: (scope: string) => boolean;
  perform: (request: StepRequest) => void;
  /** All recorded results were delivered, except for the discarded steps. */
  onReplayed: (setAside: readonly StepRow[]) => void;
  onDiverged: (parked: ParkedRun) => void;
};

export class Replay {
  readonly #options: ReplayOptions;
  readonly #results = new EventLoopQueue(() => this.#quiet());
  readonly #waiting = new Map<string, StepRequest>();
  #grace: NodeJS.Timeout | null = null;
  #isLive: boolean;

  constructor(options: ReplayOptions) {
    this.#options = options;
    this.#isLive = options.recording.isUsedUp && this.#unrequested().length === 0;
  }

  /** From now on, requests are performed. */
  get isLive(): boolean {
    return this.#isLive;
  }

  take(request: StepRequest): void {
    if (!this.#isLive) {
      this.#waiting.set(nameText(request.name), request);
      this.#results.wake();
      return;
    }
    // A body that returned to a checkpoint may request a skipped step later.
    const row = this.#options.recording.take(nameText(request.name));
    if (row) this.give(request, row);
    else this.#options.perform(request);
  }

  give(request: StepRequest, row: StepRow): void {
    this.#results.give(() => answer(request, row));
  }

  /** The body moved to the start of this epoch by itself. */
  jumpTo(epoch: number): void {
    this.#options.recording.jumpTo(epoch, (name) => this.#waiting.has(name));
    this.#results.wake();
  }

  /** The body has ended. Returns false, and reports the divergence, if recorded steps were not requested. */
  finish(): boolean {
    if (this.#isLive) return true;
    const row = this.#options.recording.next(this.#options.isCut) ?? this.#unrequested()[0] ?? null;
    this.#waiting.clear();
    if (row !== null && !this.#options.mayDiffer()) {
      this.#diverged(row, null);
      return false;
    }
    this.#goLive();
    return true;
  }

  stop(): void {
    if (this.#grace) clearTimeout(this.#grace);
    this.#results.stop();
  }

  /** The body has done all it can with the results so far. */
  #quiet(): void {
    if (this.#grace) clearTimeout(this.#grace);
    this.#grace = null;
    if (this.#isLive) return;
    this.#forgetCut();
    const { recording, isCut, mayDiffer } = this.#options;
    const ended = recording.next(isCut);
    const row = ended ?? this.#unrequested()[0];
    if (row === undefined) {
      this.#goLive();
      return;
    }
    const request = ended === null ? undefined : this.#waiting.get(nameText(row));
    if (request) {
      this.#waiting.delete(nameText(row));
      recording.take(nameText(row));
      this.give(request, row);
      return;
    }
    const [other] = this.#waiting.values();
    // Without an open request, the body is busy on its own: it will request a step, or end.
    if (other === undefined) return;
    if (mayDiffer() && ended !== null) this.#goLive();
    else this.#grace = setTimeout(() => this.#differ(row, other), this.#options.graceMs);
  }

  #differ(row: StepRow, other: StepRequest): void {
    if (this.#options.mayDiffer()) this.#goLive();
    else this.#diverged(row, other);
  }

  /** Steps that have started and that changed code does not request, at least not yet. */
  #unrequested(): StepRow[] {
    const { recording, isCut, isChanged, force } = this.#options;
    if (!isChanged && !force) return [];
    return recording.open.filter((row) => !this.#waiting.has(nameText(row)) && !isCut(row.scope));
  }

  /** Drops requests of branches that were stopped. */
  #forgetCut(): void {
    for (const [name, request] of this.#waiting) if (request.scope.over) this.#waiting.delete(name);
  }

  #goLive(): void {
    this.#isLive = true;
    this.#forgetCut();
    const requests = [...this.#waiting.values()];
    this.#options.onReplayed(this.#setAside());
    this.#waiting.clear();
    for (const request of requests) this.take(request);
  }

  /** A forced resume discards recorded and started steps that are not requested. */
  #setAside(): StepRow[] {
    const { force, recording } = this.#options;
    if (!force) return [];
    const rest = recording.rest.filter((row) => !this.#waiting.has(nameText(row)));
    for (const row of rest) recording.take(nameText(row));
    const open = this.#unrequested();
    for (const row of open) recording.giveUp(nameText(row));
    return [...rest, ...open];
  }

  #diverged(row: StepRow, instead: StepRequest | null): void {
    const recorded = describeStep(row, row.label);
    const asked = instead === null ? null : describeStep(instead.name, instead.spec.label);
    const found = asked === null ? "its body ended without it" : `it asked for ${asked}`;
    const detail = `expected ${recorded}, which ${row.ended === null ? "has started" : "is recorded"}, but ${found}`;
    this.#options.onDiverged({ reason: "diverged", detail, recorded, asked, checkpoints: row.epoch });
  }
}
