/** The transactions of one run under execution. Each of them checks that the run is still this executor's. */

import type { NewEvent } from "../../contract/event.ts";
import type { Run } from "../../contract/run.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Persist } from "../../store/persist.ts";
import type { StepName, StepRow, StoreTx } from "../../store/store.ts";
import type { Begun, StepSpec } from "../engine.ts";
import { recordError } from "./failures.ts";

/** The run is no longer this executor's, or has ended. */
export class LostRun extends Error {
  override readonly name = "LostRun";
}

export type RecordsOptions = {
  run: Pick<Run, "id" | "workflow">;
  owner: string;
  persist: Persist;
  clock: Clock;
  log: Logger;
  /** The place of the last step that has ended, as the record has it. */
  lastPlace: number;
};

export type Asked = { name: StepName; spec: StepSpec };

/** How a step ended: its result as JSON, or the error. */
export type Outcome = { result: string | undefined } | { error: unknown };

export class Records {
  readonly #options: RecordsOptions;
  /** Counted here, because nobody else ends steps of a run that is this executor's. */
  #lastPlace: number;

  constructor(options: RecordsOptions) {
    this.#options = options;
    this.#lastPlace = options.lastPlace;
  }

  async begin({ name, spec }: Asked, begin: (tx: StoreTx) => Promise<Begun>): Promise<Begun> {
    const now = this.#options.clock.now();
    return this.#write(async (tx) => {
      const begun = await begin(tx);
      const row = { ...this.#row(name, spec, now), begun: JSON.stringify(begun.value), session: begun.session ?? null };
      await tx.steps.insert(row);
      await tx.events.append(this.#stepEvent(spec, name.scope, { status: "begun", error: null, started: now }), now);
      return begun;
    });
  }

  /** `extra` is part of the same transaction; it replaces the event when it says so. */
  async end(
    { name, spec }: Asked,
    how: { started: number; begun: boolean; outcome: Outcome },
    extra?: (tx: StoreTx) => Promise<"told" | undefined>,
  ): Promise<StepRow> {
    const { outcome, started } = how;
    const failed = "error" in outcome;
    const error = failed ? errorText(outcome.error) : null;
    const status = failed ? ("error" as const) : ("ok" as const);
    const result = failed ? null : (outcome.result ?? null);
    const failure = failed ? recordError(outcome.error) : null;
    return this.#write(async (tx) => {
      this.#lastPlace += 1;
      const ended = this.#lastPlace;
      const at = this.#options.clock.now();
      const end = { status, ended, result, failure, error };
      const row = { ...this.#row(name, spec, started), ...end, ended_at: at };
      if (how.begun) await tx.steps.end(name, { ...end, at });
      else await tx.steps.insert(row);
      const told = await extra?.(tx);
      if (told !== "told") await tx.events.append(this.#stepEvent(spec, name.scope, { status, error, started }), at);
      return row;
    });
  }

  /** Lines are for people: a run does not wait for them. */
  logLine(text: string, level: "info" | "warning" | "error", place: string | null): void {
    const { run, persist, clock, log } = this.#options;
    const data = { run: run.id, workflow: run.workflow, level, text, place };
    persist((tx) => tx.events.append({ type: "run.log", session: null, data }, clock.now())).catch((error: unknown) =>
      log.warn("a run's log line could not be written", { run: run.id, error: errorText(error) }),
    );
  }

  #write<T>(unit: (tx: StoreTx) => Promise<T>): Promise<T> {
    const { run, owner, persist } = this.#options;
    return persist(async (tx) => {
      const hold = await tx.runs.hold(run.id);
      if (hold?.status !== "running" || hold.owner !== owner) throw new LostRun(`run ${run.id} is not ours any more`);
      return unit(tx);
    });
  }

  #row(name: StepName, { method, label }: StepSpec, startedAt: number): StepRow {
    const open = { status: "begun" as const, ended: null, ended_at: null, error: null };
    const empty = { begun: null, result: null, failure: null, session: null };
    return { ...name, method, label, ...open, ...empty, started_at: startedAt };
  }

  #stepEvent(
    { method, label }: StepSpec,
    scope: string,
    { status, error, started }: { status: StepRow["status"]; error: string | null; started: number },
  ): NewEvent {
    const { run, clock } = this.#options;
    const duration_ms = status === "begun" ? 0 : clock.now() - started;
    const data = { run: run.id, workflow: run.workflow, method, label, scope, status, error, duration_ms };
    return { type: "run.step", session: null, data };
  }
}
