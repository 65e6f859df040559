/** The runs that execute in this process. The end of each run is written in one transaction. */
import type { RunId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { toJson } from "@aegis/lib/strict-json.ts";
import type { RunRow, StepRow, Store } from "@aegis/store/store.ts";
import { type Transact, whileAway } from "@aegis/store/transact.ts";
import type { Definition, RunHooks } from "../engine.ts";
import { Execution, type ExecutionEnding } from "./execution.ts";
import { isExpected, runErrorOf } from "./failures.ts";
import { Recording } from "./recording.ts";
import { LostRun, Records } from "./records.ts";
import { publicRun, type RunEnding, type RunRecords } from "./run-records.ts";
import type { Signals } from "./signals.ts";

export type ExecutionsOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  hooks: RunHooks;
  owner: string;
  transact: Transact;
  book: RunRecords;
  signals: Signals;
  /** The run has ended, is parked, or no longer executes here. */
  onSettled: (id: RunId) => void;
};

type Running = {
  execution: Execution | null;
  done: Promise<void>;
  abandoned: Error | null;
  /** Aborts when the run is abandoned. */
  stopped: AbortController;
};
/** What earlier executions left: steps, and places of log lines. */
type Recorded = { steps: StepRow[]; logged: Set<string> };

/** A step that does not stop within this time is abandoned. */
const letGoMs = 5_000;
const logPage = 1_000;

export class Executions {
  readonly #options: ExecutionsOptions;
  readonly #running = new Map<RunId, Running>();

  constructor(options: ExecutionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#running.size;
  }

  has(id: RunId): boolean {
    return this.#running.has(id);
  }

  /** True while the run still receives recorded results. */
  isReplaying(id: RunId): boolean {
    const running = this.#running.get(id);
    return running !== undefined && (running.execution?.isReplaying ?? true);
  }

  /** Calls the body of a run that this executor holds. */
  begin(row: RunRow, definition: Definition, { force }: { force: boolean }): void {
    const running: Running = {
      execution: null,
      done: Promise.resolve(),
      abandoned: null,
      stopped: new AbortController(),
    };
    this.#running.set(row.id, running);
    running.done = this.#follow(running, row, definition, force)
      .catch((error: unknown) => {
        if (error instanceof LostRun || running.abandoned) return;
        this.#options.log.error("a run could not continue", { run: row.id, error: errorText(error) });
      })
      .then(() => {
        this.#running.delete(row.id);
        this.#options.signals.forget(row.id);
        this.#options.onSettled(row.id);
      });
  }

  /** Releases a run without writing anything. Resolves when the steps in progress have stopped. */
  async abandon(id: RunId, reason: Error): Promise<void> {
    const running = this.#running.get(id);
    if (!running) return;
    running.abandoned = reason;
    running.stopped.abort(reason);
    const done = Promise.all([running.execution?.abandon(reason), running.done]);
    await Promise.race([done, patience()]);
  }

  /** Returns the released runs. */
  async abandonAll(reason: Error): Promise<RunId[]> {
    const ids = [...this.#running.keys()];
    await Promise.all(ids.map((id) => this.abandon(id, reason)));
    return ids;
  }

  async #follow(running: Running, row: RunRow, definition: Definition, force: boolean): Promise<void> {
    const { book, hooks, owner, transact, clock, log, signals } = this.#options;
    const run = publicRun(row);
    const isFresh = row.resumes === 0 && row.forked_from === null;
    const { steps, logged } = isFresh ? nothingRecorded() : await this.#recorded(row.id, running.stopped.signal);
    if (running.abandoned) return;
    let replayed: Promise<void> = Promise.resolve();
    const recording = new Recording(steps);
    const onReplayed = (setAside: readonly StepRow[]) => {
      if (row.code === definition.code && setAside.length === 0) return;
      replayed = book.replayed(run, definition.code, setAside);
      replayed.catch(() => {});
    };
    const records = new Records({ run, owner, transact, clock, log, lastPlace: recording.lastPlace });
    const execution = new Execution({
      run,
      definition,
      recording,
      logged,
      records,
      signals,
      clock,
      log,
      force,
      onReplayed,
    });
    if (!execution.isReplaying) onReplayed([]);
    running.execution = execution;
    const ending = await execution.execute();
    await replayed;
    if (ending.kind === "lost") return;
    if (ending.kind === "parked") {
      await book.park(run, ending.parked);
      return;
    }
    const ended = await book.end(row.id, judge(row, ending, records));
    await hooks.afterEnd(ended);
  }

  /** A run that could not be read would stay with this executor and not continue. */
  #recorded(run: RunId, signal: AbortSignal): Promise<Recorded> {
    const { store, clock, log } = this.#options;
    const read = async () => ({ steps: await store.read.steps.list(run), logged: await this.#loggedPlaces(run) });
    return whileAway(read, { clock, log, signal, what: "the start of a run", details: { run } });
  }

  async #loggedPlaces(run: RunId): Promise<Set<string>> {
    const places = new Set<string>();
    const { events } = this.#options.store.read;
    for (let after = 0; ; ) {
      const page = await events.list({ run, types: ["run.log"], after, limit: logPage });
      for (const event of page) {
        if (event.type === "run.log" && event.data.place !== null) places.add(event.data.place);
        after = event.seq;
      }
      if (page.length < logPage) return places;
    }
  }
}

function nothingRecorded(): Recorded {
  return { steps: [], logged: new Set() };
}

function judge(
  { workflow }: RunRow,
  ending: Extract<ExecutionEnding, { kind: "returned" | "threw" }>,
  records: Records,
): RunEnding {
  if (ending.kind === "threw") return failed(ending.error, records);
  try {
    const text = toJson(ending.value, `the result of ${workflow}`);
    return { status: "ok", result: text === undefined ? null : JSON.parse(text), error: null };
  } catch (error) {
    return failed(error, records);
  }
}

/** Logs a defect of the workflow with its stack, where the author will look. */
function failed(error: unknown, records: Records): RunEnding {
  if (!isExpected(error)) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    records.logLine(`unexpected: ${stack}`, "error", null);
  }
  return { status: "error", result: null, error: runErrorOf(error) };
}

function patience(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, letGoMs).unref();
  });
}
