/** One call of a run's body. Each request is answered from the recorded steps, or performed and recorded. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Json, ParkedRun, Run } from "@aegis/contract/run.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { toJson } from "@aegis/lib/strict-json.ts";
import type { StepName, StepRow } from "@aegis/store/store.ts";
import { type Definition, RunCancelled, type RunContext, type StepSpec, type StepWork } from "../engine.ts";
import { Branch, branches } from "./branch.ts";
import { type Checkpoint, checkpointMethod, nameText, type Recording } from "./recording.ts";
import { LostRun, type Records } from "./records.ts";
import { Replay } from "./replay.ts";
import type { Signals } from "./signals.ts";
import { performStep, type StepRequest, stepKey } from "./step.ts";
import { receive, sleep } from "./timers.ts";

export type ExecutionEnding =
  | { kind: "returned"; value: unknown }
  | { kind: "threw"; error: unknown }
  | { kind: "parked"; parked: ParkedRun }
  /** Another executor has the run now, or it was released. */
  | { kind: "lost" };

export type ExecutionOptions = {
  run: Run;
  definition: Definition;
  recording: Recording;
  /** Places of log lines that were written before. */
  logged: ReadonlySet<string>;
  records: Records;
  signals: Signals;
  clock: Clock;
  log: Logger;
  /** Discard recorded steps that the body does not request. */
  force: boolean;
  /** Every recorded step matches the body, except for the discarded ones. */
  onReplayed: (setAside: readonly StepRow[]) => void;
};

const longestLabel = 200;
const defaultGraceMs = 25;

export class Execution implements RunContext {
  readonly run: Run;
  readonly #options: ExecutionOptions;
  readonly #root = new Branch("", null);
  readonly #scopes = new Map<string, Branch>();
  readonly #storage = new AsyncLocalStorage<Branch>();
  readonly #ending = Promise.withResolvers<ExecutionEnding>();
  readonly #performing = new Set<Promise<void>>();
  readonly #replay: Replay;
  #checkpoint: Checkpoint | null;
  #epoch = 0;
  #jumped = false;

  constructor(options: ExecutionOptions) {
    const { recording, force, onReplayed, definition, run } = options;
    this.#options = options;
    this.run = run;
    this.#checkpoint = recording.lastCheckpoint;
    this.#replay = new Replay({
      recording,
      force,
      graceMs: definition.graceMs ?? defaultGraceMs,
      onReplayed,
      isChanged: run.code !== definition.code,
      // A body that returned to a checkpoint by itself may continue differently from there.
      mayDiffer: () => force || (this.#jumped && run.code === definition.code),
      isCut: (scope) => this.#scopes.get(scope)?.over ?? false,
      perform: (request) => this.#perform(request),
      onDiverged: (parked) => this.#stop(new RunCancelled("the run is parked"), { kind: "parked", parked }),
    });
  }

  get signal(): AbortSignal {
    return this.#scope.signal;
  }

  get isReplaying(): boolean {
    return !this.#replay.isLive;
  }

  execute(): Promise<ExecutionEnding> {
    const { definition, run } = this.#options;
    const body = async () => definition.body(this, structuredClone(run.args));
    this.#storage.run(this.#root, body).then(
      (value) => this.#finish({ kind: "returned", value }),
      (error: unknown) => this.#finish({ kind: "threw", error }),
    );
    return this.#ending.promise;
  }

  /** From now on, no request is answered. Resolves when the steps in progress have stopped. */
  async abandon(reason: Error): Promise<void> {
    this.#stop(reason, { kind: "lost" });
    await Promise.allSettled(this.#performing);
  }

  step<T>(spec: StepSpec, work: StepWork<T>): Promise<T> {
    return this.#request(spec, work);
  }

  sleep(ms: number): Promise<void> {
    return sleep(this, this.#options.clock, ms);
  }

  receive(name: string, options: { timeoutMs?: number } = {}): Promise<Json | null> {
    return receive(this, this.#options, name, options.timeoutMs);
  }

  parallel<T>(list: readonly (() => Promise<T>)[]): Promise<T[]> {
    const parent = this.#scope;
    if (parent.over) return never();
    const ordinal = parent.count(`parallel:${this.#epoch}`);
    const scopes = list.map((_, index) => this.#child(parent, `${this.#epoch}.${ordinal}.${index}`));
    return branches(list, scopes, (scope, branch) => this.#storage.run(scope, branch));
  }

  async checkpoint(name: string, payload: unknown): Promise<void> {
    this.#refuseInBranch("checkpoint");
    const value = JSON.parse(toJson(payload, `the payload of checkpoint "${name}"`) ?? "null") as Json;
    const epoch = this.#epoch + 1;
    const { id: run, workflow } = this.run;
    await this.#request<Json>(
      { method: checkpointMethod, args: { name, payload: value }, label: `checkpoint ${name}` },
      {
        perform: async () => value,
        end: async (tx) => {
          await tx.runs.update(run, { epoch, phase: name });
          const data = { run, workflow, epoch, name, payload: value };
          await tx.events.append({ type: "run.checkpoint", session: null, data }, this.#options.clock.now());
        },
      },
      () => {
        this.#epoch = epoch;
        if (this.#checkpoint === null || this.#checkpoint.epoch <= epoch) this.#checkpoint = { epoch, payload: value };
      },
    );
  }

  async resumeState(): Promise<Json | null> {
    this.#refuseInBranch("resumeState");
    const last = this.#checkpoint;
    if (last === null) return null;
    if (last.epoch > this.#epoch) {
      this.#epoch = last.epoch;
      this.#jumped = true;
      this.#replay.jumpTo(last.epoch);
    }
    return structuredClone(last.payload);
  }

  log(text: string, level: "info" | "warning" | "error" = "info"): void {
    const scope = this.#scope;
    if (scope.over) return;
    const place = `${this.run.retries}|${this.#epoch}|${scope.path}|${scope.count(`log:${this.#epoch}`)}`;
    if (!this.#options.logged.has(place)) this.#options.records.logLine(text, level, place);
  }

  get #scope(): Branch {
    return this.#storage.getStore() ?? this.#root;
  }

  #child(parent: Branch, name: string): Branch {
    const scope = parent.child(name);
    this.#scopes.set(scope.path, scope);
    return scope;
  }

  #refuseInBranch(what: string): void {
    if (!this.#scope.isBranch) return;
    throw new TypeError(`${what} cannot be called within a branch of parallel: the other branches have no such point`);
  }

  #request<T>(spec: StepSpec, work: StepWork<T>, onGiven?: () => void): Promise<T> {
    const scope = this.#scope;
    if (scope.over) return never();
    let key: string;
    try {
      key = stepKey(spec);
    } catch (error) {
      return Promise.reject(error);
    }
    const epoch = this.#epoch;
    const occurrence = scope.count(`${epoch}|${key}`);
    const name: StepName = { run: this.run.id, epoch, scope: scope.path, key, occurrence };
    const label = spec.label.length <= longestLabel ? spec.label : `${spec.label.slice(0, longestLabel - 1)}…`;
    const promise = new Promise<T>((resolve, reject) => {
      this.#replay.take({
        name,
        spec: { ...spec, label },
        work: work as StepWork<unknown>,
        scope,
        onGiven,
        resolve: resolve as (value: unknown) => void,
        reject,
      });
    });
    // A body may ignore a step's promise; its rejection must not crash the process.
    promise.catch(() => {});
    return promise;
  }

  #perform(request: StepRequest): void {
    const { recording, log } = this.#options;
    const { epoch, scope, key: step, occurrence } = request.name;
    const key = `${this.run.id}/${this.run.retries}/${epoch}/${scope}/${step}/${occurrence}`;
    const performing = performStep(request, key, recording.begun(nameText(request.name)), this.#options).then(
      (row) => {
        if (row) this.#replay.give(request, row);
      },
      (error: unknown) => {
        if (this.#root.over) return;
        if (!(error instanceof LostRun))
          log.error("could not record a step", {
            run: this.run.id,
            step: request.spec.label,
            error: errorText(error),
          });
        this.#stop(new LostRun(errorText(error)), { kind: "lost" });
      },
    );
    this.#performing.add(performing);
    void performing.finally(() => this.#performing.delete(performing));
  }

  #finish(ending: ExecutionEnding): void {
    if (this.#root.over || !this.#replay.finish()) return;
    this.#stop(new RunCancelled("the run has ended"), ending);
  }

  #stop(reason: Error, ending: ExecutionEnding): void {
    this.#replay.stop();
    this.#ending.resolve(ending);
    this.#root.cut(reason);
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
