/** The transactions of one executing run. Each one checks that this executor still holds the run. */

import type { NewEvent } from "@aegis/contract/event.ts";
import type { Run } from "@aegis/contract/run.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { StepName, StepRow, StoreTx } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import type { BegunStep, StepSpec } from "../engine.ts";
import { recordError } from "./failures.ts";

/** This executor no longer holds the run, or the run has ended. */
export class LostRun extends Error {
  override readonly name = "LostRun";
}

export type RecordsOptions = {
  run: Pick<Run, "id" | "workflow">;
  owner: string;
  transact: Transact;
  clock: Clock;
  log: Logger;
  /** The recorded place of the last step that has ended. */
  lastPlace: number;
};

export type NamedStep = { name: StepName; spec: StepSpec };

/** The outcome of a step: its result as JSON, or the error. */
export type StepOutcome = { result: string | undefined } | { error: unknown };

export class Records {
  readonly #options: RecordsOptions;
  /** Kept in memory, because only this executor ends steps of the run. */
  #lastPlace: number;

  constructor(options: RecordsOptions) {
    this.#options = options;
    this.#lastPlace = options.lastPlace;
  }

  async begin({ name, spec }: NamedStep, begin: (tx: StoreTx) => Promise<BegunStep>): Promise<BegunStep> {
    const now = this.#options.clock.now();
    return this.#write(async (tx) => {
      const begun = await begin(tx);
      const row = { ...this.#row(name, spec, now), begun: JSON.stringify(begun.value), session: begun.session ?? null };
      await tx.steps.insert(row);
      await tx.events.append(this.#stepEvent(spec, name.scope, { status: "begun", error: null, started: now }), now);
      return begun;
    });
  }

  /** `extra` is part of the same transaction. It returns "told" to replace the event. */
  async end(
    { name, spec }: NamedStep,
    how: { started: number; begun: boolean; outcome: StepOutcome },
    extra: (tx: StoreTx) => Promise<"told" | undefined>,
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
      const told = await extra(tx);
      if (told !== "told") await tx.events.append(this.#stepEvent(spec, name.scope, { status, error, started }), at);
      return row;
    });
  }

  /** Log lines are for people, so the run does not wait for them. */
  logLine(text: string, level: "info" | "warning" | "error", place: string | null): void {
    const { run, transact, clock, log } = this.#options;
    const data = { run: run.id, workflow: run.workflow, level, text, place };
    transact((tx) => tx.events.append({ type: "run.log", session: null, data }, clock.now())).catch((error: unknown) =>
      log.warn("could not write a run's log line", { run: run.id, error: errorText(error) }),
    );
  }

  #write<T>(unit: (tx: StoreTx) => Promise<T>): Promise<T> {
    const { run, owner, transact } = this.#options;
    return transact(async (tx) => {
      const hold = await tx.runs.hold(run.id);
      if (hold?.status !== "running" || hold.owner !== owner)
        throw new LostRun(`run ${run.id} is no longer held by this executor`);
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
