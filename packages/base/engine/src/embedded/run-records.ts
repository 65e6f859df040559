/** The transactions that start, take, park and end runs. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { RunId } from "@aegis/contract/ids.ts";
import { nodeOfOwner } from "@aegis/contract/node.ts";
import type { ParkedRun, Run, RunError, Step } from "@aegis/contract/run.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { RunRow, StepRow, StoreTx } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import { type Definition, heldLabel, type NewRun, type RunHooks } from "../engine.ts";
import { LostRun } from "./records.ts";

export type RunRecordsOptions = {
  clock: Clock;
  hooks: RunHooks;
  transact: Transact;
  owner: string;
  leaseMs: number;
  /** A run is free only without an owner: the lease of its owner is that of a node. */
  leasedByNode: boolean;
};

export type RunEnding = { status: "ok" | "error" | "cancelled"; result: unknown; error: RunError | null };

/** A larger result is omitted from the event; the run has it. */
const mostEventCharacters = 256 * 1024;

export class RunRecords {
  readonly #options: RunRecordsOptions;

  constructor(options: RunRecordsOptions) {
    this.#options = options;
  }

  insert(request: NewRun & { id: RunId }, definition: Definition): Promise<{ row: RunRow; isNew: boolean }> {
    return this.#options.transact(async (tx) => {
      const before = await tx.runs.get(request.id);
      if (before) return { row: before, isNew: false };
      const row = this.#newRow(request, definition);
      await this.#begin(tx, row);
      return { row, isNew: true };
    });
  }

  fork(from: RunRow, id: RunId, checkpoints: number, definition: Definition): Promise<{ row: RunRow; isNew: boolean }> {
    if (checkpoints > from.epoch) {
      throw new AegisError("invalid", `run ${from.id} has no checkpoint ${checkpoints}: it passed ${from.epoch}`);
    }
    return this.#options.transact(async (tx) => {
      const before = await tx.runs.get(id);
      if (before) return { row: before, isNew: false };
      const { workflow, args, host, starter, chain, hops } = from;
      const fresh = this.#newRow({ id, workflow, args, host, starter, chain, hops }, definition);
      const kept = { code: from.code, epoch: checkpoints, phase: checkpoints === from.epoch ? from.phase : null };
      const row: RunRow = { ...fresh, ...kept, forked_from: from.id };
      await this.#begin(tx, row);
      await tx.steps.copy(from.id, id, checkpoints);
      return { row, isNew: true };
    });
  }

  /**
   * Assigns the run to this executor. Returns null if another executor holds it, or if it has ended and `ended` is
   * false.
   */
  take(id: RunId, may: { exclusive: boolean; ended: boolean }): Promise<RunRow | null> {
    const { clock, owner, leaseMs, transact } = this.#options;
    return transact(async (tx) => {
      const row = await tx.runs.get(id);
      const now = clock.now();
      if (!row || row.status === "ok") return null;
      const isEnded = row.ended_at !== null;
      if (isEnded && !may.ended) return null;
      if (!may.exclusive && !this.#isFree(row)) return null;
      const change = {
        status: "running" as const,
        owner,
        lease_until: now + leaseMs,
        resumes: row.resumes + 1,
        resumed_at: now,
        parked: null,
        // An ended run restarts from its last checkpoint: later steps run again under new keys.
        ...(isEnded ? { retries: row.retries + 1, ended_at: null, error: null, result: null } : {}),
      };
      if (isEnded) await tx.steps.remove(id, { epoch: row.epoch });
      await tx.runs.update(id, change);
      const steps = await tx.steps.countEnded(id);
      const data = { run: id, workflow: row.workflow, steps, phase: row.phase };
      await tx.events.append({ type: "run.resumed", session: null, data }, now);
      return { ...row, ...change };
    });
  }

  async parkMissing(row: RunRow, exclusive: boolean): Promise<boolean> {
    const parked: ParkedRun = {
      reason: "missing",
      detail: `no workflow "${row.workflow}" is registered; the run resumes when there is one`,
      recorded: null,
      asked: null,
      checkpoints: null,
    };
    return this.#options.transact(async (tx) => {
      const now = await tx.runs.get(row.id);
      if (now?.status !== "running" || !(exclusive || this.#isFree(now))) return false;
      await this.#park(tx, row, parked);
      return true;
    });
  }

  park(run: Run, parked: ParkedRun): Promise<void> {
    return this.#options.transact(async (tx) => {
      await this.#checkMine(tx, run.id);
      await this.#park(tx, run, parked);
    });
  }

  /** Updates the recorded code hash and deletes discarded steps. */
  replayed(run: Run, code: string, setAside: readonly StepRow[]): Promise<void> {
    return this.#options.transact(async (tx) => {
      await this.#checkMine(tx, run.id);
      await tx.runs.update(run.id, { code });
      const open = setAside.filter((row) => row.ended === null);
      if (open.length > 0) await this.#options.hooks.onGivenUp(tx, run, open, "its code no longer requests it");
      const held = setAside.filter((row) => row.session !== null).map(heldBy);
      await tx.steps.remove(run.id, { names: [...setAside, ...held] });
      for (const row of held) await tx.steps.insert(row);
      if (setAside.length === 0) return;
      const text = `discarded, because the code no longer requests them: ${setAside.map((row) => row.label).join("; ")}`;
      const data = { run: run.id, workflow: run.workflow, level: "warning" as const, text, place: null };
      await tx.events.append({ type: "run.log", session: null, data }, this.#options.clock.now());
    });
  }

  end(id: RunId, ending: RunEnding): Promise<Run> {
    return this.#options.transact(async (tx) => {
      const row = await this.#checkMine(tx, id);
      return this.#end(tx, row, ending);
    });
  }

  cancel(id: RunId, reason: string): Promise<{ run: Run; changed: boolean }> {
    return this.#options.transact(async (tx) => {
      const row = await tx.runs.get(id);
      if (!row) throw new AegisError("not_found", `no run ${id}`);
      if (row.ended_at !== null) return { run: publicRun(row), changed: false };
      const error: RunError = { kind: "expected", name: "Cancelled", message: reason };
      return { run: await this.#end(tx, row, { status: "cancelled", result: null, error }), changed: true };
    });
  }

  release(ids: readonly RunId[]): Promise<void> {
    if (ids.length === 0) return Promise.resolve();
    return this.#options.transact(async (tx) => {
      for (const id of ids) {
        const hold = await tx.runs.hold(id);
        if (hold?.owner === this.#options.owner) await tx.runs.update(id, { owner: null, lease_until: null });
      }
    });
  }

  #isFree({ owner, lease_until }: RunRow): boolean {
    if (owner === null) return true;
    return !this.#options.leasedByNode && (lease_until ?? 0) <= this.#options.clock.now();
  }

  async #begin(tx: StoreTx, row: RunRow): Promise<void> {
    await tx.runs.insert(row);
    const { id: run, workflow, args, host, forked_from } = row;
    const data = { run, workflow, args, host, forked_from };
    await tx.events.append({ type: "run.started", session: null, data }, row.created_at);
  }

  async #checkMine(tx: StoreTx, id: RunId): Promise<RunRow> {
    const row = await tx.runs.get(id);
    if (row?.status === "running" && row.owner === this.#options.owner) return row;
    throw new LostRun(`run ${id} is no longer held by this executor`);
  }

  async #park(tx: StoreTx, { id, workflow }: Pick<Run, "id" | "workflow">, parked: ParkedRun): Promise<void> {
    await tx.runs.update(id, { status: "parked", parked, owner: null, lease_until: null });
    const data = { run: id, workflow, ...parked };
    await tx.events.append({ type: "run.parked", session: null, data }, this.#options.clock.now());
  }

  async #end(tx: StoreTx, row: RunRow, ending: RunEnding): Promise<Run> {
    const { clock, hooks } = this.#options;
    const at = clock.now();
    await tx.runs.end(row.id, { ...ending, at });
    const open = await tx.steps.list(row.id, { status: "begun" });
    const why = ending.status === "cancelled" ? "the run was cancelled" : "the run has ended";
    if (open.length > 0) await hooks.onGivenUp(tx, row, open, why);
    const ended = { ...publicRun(row), ...ending, parked: null, ended_at: at };
    const callback = await hooks.onEnd(tx, ended);
    const { status, error } = ending;
    const isLarge = (JSON.stringify(ending.result ?? null) ?? "").length > mostEventCharacters;
    const data = {
      run: row.id,
      workflow: row.workflow,
      status,
      error,
      callback,
      result: isLarge ? null : ending.result,
    };
    await tx.events.append({ type: "run.ended", session: null, data }, at);
    return ended;
  }

  #newRow(request: NewRun & { id: RunId }, definition: Definition): RunRow {
    const { clock, owner, leaseMs } = this.#options;
    const now = clock.now();
    return {
      id: request.id,
      workflow: request.workflow,
      args: request.args,
      status: "running",
      host: request.host ?? null,
      starter: request.starter ?? null,
      callback: request.callback ?? false,
      chain: request.chain ?? null,
      hops: request.hops ?? 0,
      code: definition.code,
      epoch: 0,
      phase: null,
      resumes: 0,
      retries: 0,
      forked_from: null,
      parked: null,
      result: null,
      error: null,
      created_at: now,
      resumed_at: null,
      ended_at: null,
      owner,
      lease_until: now + leaseMs,
    };
  }
}

/**
 * The run closes a session even if the step that started it is discarded. The step may be requested again under its own
 * key; the session's id follows from that key, so it is the same session.
 */
function heldBy(row: StepRow): StepRow {
  const label = `${heldLabel}${row.label}`;
  return {
    ...row,
    key: `held:${row.key}`,
    label,
    status: "begun",
    ended: null,
    ended_at: null,
    result: null,
    failure: null,
    error: null,
  };
}

export function publicRun({ owner, lease_until: _until, ...run }: RunRow): Run {
  const node = nodeOfOwner(owner);
  return node === null ? run : { ...run, node };
}

export function publicStep(row: StepRow): Step {
  const { run, epoch, scope, method, label, status, ended, error, started_at, ended_at } = row;
  return { run, epoch, scope, method, label, status, ended, error, started_at, ended_at };
}
