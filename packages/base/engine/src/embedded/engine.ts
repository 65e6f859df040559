/** The embedded engine: executes runs in this process and keeps all durable state in the store. */
import { randomUUID } from "node:crypto";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { newId, type RunId } from "@aegis/contract/ids.ts";
import type { Json, Run, RunStatus, Step } from "@aegis/contract/run.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { RunRow, Store } from "@aegis/store/store.ts";
import { createTransact } from "@aegis/store/transact.ts";
import { type Definition, type Engine, EngineStopped, type NewRun, RunCancelled, type RunHooks } from "../engine.ts";
import { Executions } from "./executions.ts";
import { publicRun, publicStep, RunRecords } from "./run-records.ts";
import { Signals } from "./signals.ts";

export type EmbeddedEngineOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  hooks: RunHooks;
  /** No other process executes runs of this store, so runs of an earlier executor are taken over immediately. */
  exclusive: boolean;
  /** How long an executor keeps a run without renewing its lease. */
  leaseMs?: number;
  /** The incarnation of this node. Runs have its lease: they are free once another node has taken over. */
  incarnation?: string | undefined;
  /** Aborts when a stop must no longer wait until the store can write. */
  signal?: AbortSignal;
};

const defaultLeaseMs = 30_000;

export class EmbeddedEngine implements Engine {
  readonly #options: EmbeddedEngineOptions;
  readonly #owner: string;
  readonly #leaseMs: number;
  readonly #definitions = new Map<string, Definition>();
  readonly #stopped = new AbortController();
  readonly #book: RunRecords;
  readonly #signals: Signals;
  readonly #executions: Executions;
  /** Callers that wait for the end of a run. */
  readonly #watchers = new Map<RunId, Set<() => void>>();
  /** The last operation in the queue of `#alone`. */
  #taking: Promise<unknown> = Promise.resolve();
  /** Released runs whose steps have not stopped yet. They are not adopted before. */
  readonly #restarting = new Set<RunId>();
  #launched = false;

  constructor(options: EmbeddedEngineOptions) {
    this.#options = options;
    this.#owner = options.incarnation ?? randomUUID();
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
    const signal = AbortSignal.any([this.#stopped.signal, ...(options.signal === undefined ? [] : [options.signal])]);
    const { store, clock, log, hooks } = options;
    const transact = createTransact({ store, clock, log, signal });
    this.#book = new RunRecords({
      clock,
      hooks,
      transact,
      owner: this.#owner,
      leaseMs: this.#leaseMs,
      leasedByNode: options.incarnation !== undefined,
    });
    this.#signals = new Signals(options.store);
    this.#executions = new Executions({
      store,
      clock,
      log,
      hooks,
      owner: this.#owner,
      transact,
      book: this.#book,
      signals: this.#signals,
      onSettled: (id) => this.#tell(id),
    });
    const stop = options.store.onCommit((events) => this.#notice(events), ["run.ended", "run.parked"], "others");
    this.#stopped.signal.addEventListener("abort", stop, { once: true });
  }

  /** Another executor ended or parked a run. */
  #notice(events: readonly Event[]): void {
    for (const event of events) {
      if (event.type !== "run.ended" && event.type !== "run.parked") continue;
      const { run } = event.data;
      const reason = event.type === "run.ended" ? (event.data.error?.message ?? "it has ended") : "it is parked";
      void this.#executions.abandon(run, new RunCancelled(reason)).then(() => this.#tell(run));
      if (event.type === "run.parked" && event.data.reason === "missing") this.adoptFreed();
    }
  }

  define(definition: Definition): () => void {
    const { name } = definition;
    if (this.#definitions.has(name)) throw new AegisError("conflict", `a workflow "${name}" is already registered`);
    this.#definitions.set(name, definition);
    if (this.#launched) this.#adoptQuietly();
    return () => {
      if (this.#definitions.get(name) === definition) this.#definitions.delete(name);
    };
  }

  async start(request: NewRun): Promise<Run> {
    this.#refuseWhenStopped();
    const definition = this.#definition(request.workflow);
    const now = this.#options.clock.now();
    const { row, isNew } = await this.#book.insert({ ...request, id: request.id ?? newId("run", now) }, definition);
    if (isNew) this.#executions.begin(row, definition, { force: false });
    return publicRun(row);
  }

  async get(id: RunId): Promise<Run | null> {
    const row = await this.#options.store.read.runs.get(id);
    return row === null ? null : publicRun(row);
  }

  async list(filter: { workflow?: string | undefined; status?: RunStatus | undefined; limit: number }): Promise<Run[]> {
    return (await this.#options.store.read.runs.list(filter)).map(publicRun);
  }

  async steps(id: RunId, limit?: number): Promise<Step[]> {
    const rows = await this.#options.store.read.steps.list(id, limit === undefined ? {} : { limit });
    return rows.map(publicStep);
  }

  signal(id: RunId, name: string, value: Json, key: string): Promise<void> {
    return this.#signals.send(id, name, value, key);
  }

  async settled(id: RunId, signal?: AbortSignal): Promise<Run> {
    while (true) {
      signal?.throwIfAborted();
      const news = this.#newsOf(id, signal);
      const row = await this.#row(id);
      if (row.status !== "running") return publicRun(row);
      await news;
    }
  }

  async cancel(id: RunId, reason: string): Promise<Run> {
    const { run, changed } = await this.#book.cancel(id, reason);
    if (changed) {
      await this.#executions.abandon(id, new RunCancelled(reason));
      this.#tell(id);
      await this.#options.hooks.afterEnd(run);
    }
    return run;
  }

  async resume(id: RunId, { force = false }: { force?: boolean } = {}): Promise<Run> {
    this.#refuseWhenStopped();
    return this.#alone(async () => {
      const definition = this.#definition((await this.#row(id)).workflow);
      // After the replay there are no recorded steps left to discard.
      if (force && this.#executions.isReplaying(id))
        await this.#executions.abandon(id, new EngineStopped("the run is resumed by force"));
      const row = await this.#row(id);
      if (this.#isUnderWay(id)) return publicRun(row);
      if (row.status === "ok") throw new AegisError("conflict", `run ${id} has finished: there is nothing to resume`);
      const taken = await this.#book.take(id, { exclusive: this.#options.exclusive, ended: true });
      if (taken === null) throw new AegisError("conflict", `run ${id} is executed by another process`);
      this.#executions.begin(taken, definition, { force });
      return publicRun(taken);
    });
  }

  async restart(id: RunId, reason: string): Promise<void> {
    if (!this.#executions.has(id) || this.#restarting.has(id)) return;
    this.#restarting.add(id);
    try {
      await this.#executions.abandon(id, new EngineStopped(reason));
      if (this.#stopped.signal.aborted) return;
      await this.#book.release([id]);
    } finally {
      this.#restarting.delete(id);
    }
    await this.#adopt(id);
  }

  async fork(id: RunId, options: { id?: RunId | undefined; checkpoints?: number | undefined } = {}): Promise<Run> {
    this.#refuseWhenStopped();
    const from = await this.#row(id);
    const definition = this.#definition(from.workflow);
    const target = options.id ?? newId("run", this.#options.clock.now());
    const checkpoints = options.checkpoints ?? from.parked?.checkpoints ?? from.epoch;
    const { row, isNew } = await this.#book.fork(from, target, checkpoints, definition);
    if (isNew) this.#executions.begin(row, definition, { force: false });
    return publicRun(row);
  }

  async launch(): Promise<Run[]> {
    this.#launched = true;
    const taken = await this.#adopt();
    void this.#keepLeases();
    return taken;
  }

  /** Adopts runs that a node which is gone has left. */
  adoptFreed(): void {
    if (this.#launched) this.#adoptQuietly();
  }

  async stop(): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const released = await this.#executions.abandonAll(new EngineStopped("Aegis is stopping"));
    this.#stopped.abort(new AegisError("unavailable", "Aegis is stopping"));
    await this.#book.release(released);
  }

  /** Serializes adoption: two concurrent calls could both get the same run. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#taking.then(work);
    this.#taking = turn.catch(() => {});
    return turn;
  }

  #isUnderWay(id: RunId): boolean {
    return this.#executions.has(id) || this.#restarting.has(id);
  }

  #refuseWhenStopped(): void {
    if (this.#stopped.signal.aborted) throw new AegisError("unavailable", "Aegis is stopping and starts no runs");
  }

  #definition(name: string): Definition {
    const definition = this.#definitions.get(name);
    if (definition) return definition;
    const names = [...this.#definitions.keys()];
    throw new AegisError("not_found", `no workflow "${name}"${didYouMean(name, names)}`, {
      hint: names.length === 0 ? "no workflow is registered" : `workflows here: ${names.join(", ")}`,
    });
  }

  async #row(id: RunId): Promise<RunRow> {
    const row = await this.#options.store.read.runs.get(id);
    if (!row) throw new AegisError("not_found", `no run ${id}`);
    return row;
  }

  /** Adopts runs without an executor: after a crash, an expired lease, or the return of a missing workflow. */
  #adopt(only: RunId | null = null): Promise<Run[]> {
    return this.#alone(() => this.#takeFree(only));
  }

  async #takeFree(only: RunId | null): Promise<Run[]> {
    const rows = await this.#options.store.read.runs.unfinished();
    // In parallel, so that they share commits: a thousand separate commits would delay the start.
    const taken = await Promise.all(
      rows.filter((row) => only === null || row.id === only).map((row) => this.#takeIfFree(row)),
    );
    return taken.filter((run) => run !== null);
  }

  async #takeIfFree(row: RunRow): Promise<Run | null> {
    if (this.#stopped.signal.aborted || this.#isUnderWay(row.id) || row.parked?.reason === "diverged") return null;
    const { exclusive } = this.#options;
    const definition = this.#definitions.get(row.workflow);
    if (definition === undefined) {
      if (row.parked === null && (await this.#book.parkMissing(row, exclusive))) this.#tell(row.id);
      return null;
    }
    const mine = await this.#book.take(row.id, { exclusive, ended: false });
    if (mine === null || this.#stopped.signal.aborted) return null;
    this.#executions.begin(mine, definition, { force: false });
    return publicRun(mine);
  }

  #adoptQuietly(): void {
    this.#adopt().catch((error: unknown) => {
      if (!this.#stopped.signal.aborted)
        this.#options.log.error("runs could not be resumed", { error: errorText(error) });
    });
  }

  async #keepLeases(): Promise<void> {
    const { clock, store, log } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await clock.sleep(this.#leaseMs / 3, signal);
        if (this.#executions.size > 0 && this.#options.incarnation === undefined)
          await store.transact((tx) => tx.runs.renew(this.#owner, clock.now() + this.#leaseMs));
        if (!this.#options.exclusive) await this.#adopt();
        this.#signals.lookAgain();
        // Another process may have ended a run that a caller here waits for.
        for (const id of [...this.#watchers.keys()]) if (!this.#executions.has(id)) this.#tell(id);
      } catch (error) {
        if (!signal.aborted) log.warn("could not renew the leases of runs", { error: errorText(error) });
      }
    }
  }

  #tell(id: RunId): void {
    for (const knock of [...(this.#watchers.get(id) ?? [])]) knock();
  }

  #newsOf(id: RunId, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const knocks = this.#watchers.get(id) ?? new Set();
      const knock = () => {
        knocks.delete(knock);
        if (knocks.size === 0 && this.#watchers.get(id) === knocks) this.#watchers.delete(id);
        signal?.removeEventListener("abort", knock);
        resolve();
      };
      this.#watchers.set(id, knocks.add(knock));
      signal?.addEventListener("abort", knock, { once: true });
    });
  }
}
