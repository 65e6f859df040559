/** Converts runs to what clients see. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { type AskId, isId, type RunId } from "@aegis/contract/ids.ts";
import type { ListedRun, Run, RunStatus, RunView, Step } from "@aegis/contract/run.ts";
import { type Engine, isHeld } from "@aegis/engine/engine.ts";
import type { Store } from "@aegis/store/store.ts";
import type { ReceiptViews } from "@aegis/worktrees/checks/views.ts";
import { receiptsOf } from "./run-receipts.ts";
import { sessionsOf } from "./run-sessions.ts";

const mostTurns = 1_000;
const mostOpenSteps = 100;

export class RunViews {
  readonly #store: Store;
  readonly #engine: Engine;
  readonly #receipts: ReceiptViews;

  constructor(store: Store, engine: Engine, receipts: ReceiptViews) {
    this.#store = store;
    this.#engine = engine;
    this.#receipts = receipts;
  }

  /** By id, or by a unique suffix of an id. */
  async find(reference: string): Promise<Run> {
    const id = isId("run", reference) ? reference : await this.#byEnding(reference);
    const run = await this.#engine.get(id);
    if (run) return run;
    throw unknownRun(reference);
  }

  async list(filter: {
    workflow?: string | undefined;
    status?: RunStatus | undefined;
    limit: number;
  }): Promise<ListedRun[]> {
    const runs = await this.#engine.list(filter);
    return Promise.all(
      runs.map(async (run) => ({
        ...run,
        asks: run.status === "running" ? (await this.#begun(run)).flatMap((step) => askOf(step.begun)) : [],
      })),
    );
  }

  async view(reference: string): Promise<RunView> {
    const run = await this.find(reference);
    const { read } = this.#store;
    const begun = await this.#begun(run);
    const sessions = await Promise.all((await sessionsOf(read, run.id)).map((id) => read.sessions.get(id)));
    const agents = sessions.flatMap((row) =>
      row === null ? [] : [{ session: row.id, handle: row.handle, agent: row.agent, open: row.closed_at === null }],
    );
    const host = run.host === null ? null : await read.sessions.get(run.host);
    return {
      ...run,
      host_handle: host?.handle ?? null,
      steps_done: await read.steps.countEnded(run.id),
      open: begun.map(({ run: of, epoch, scope, method, label, status, ended, error, started_at, ended_at }) => {
        return { run: of, epoch, scope, method, label, status, ended, error, started_at, ended_at };
      }),
      agents,
      asks: begun.flatMap((step) => askOf(step.begun)),
      receipts: await this.#receipts.views(await receiptsOf(read, run.id)),
      cost: await this.#cost(agents.map((agent) => agent.session)),
    };
  }

  async steps(reference: string, limit: number): Promise<Step[]> {
    return this.#engine.steps((await this.find(reference)).id, limit);
  }

  async events(reference: string, page: { after: number; limit: number }): Promise<Event[]> {
    const { id } = await this.find(reference);
    return this.#store.read.events.list({ run: id, ...page });
  }

  async #begun(run: Run) {
    if (run.ended_at !== null) return [];
    const rows = await this.#store.read.steps.list(run.id, { status: "begun", limit: mostOpenSteps });
    return rows.filter((row) => !isHeld(row));
  }

  async #cost(sessions: readonly RunView["agents"][number]["session"][]): Promise<number | null> {
    const turns = await Promise.all(sessions.map((session) => this.#store.read.turns.list(session, mostTurns)));
    const costs = turns.flat().flatMap((turn) => turn.usage?.cost ?? []);
    return costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0);
  }

  async #byEnding(reference: string): Promise<RunId> {
    const [first, second] = /^[0-9a-z]{4,26}$/.test(reference)
      ? await this.#store.read.runs.endingWith(reference, 2)
      : [];
    if (first === undefined) throw unknownRun(reference);
    if (second !== undefined) throw new AegisError("conflict", `several runs end with "${reference}"`);
    return first;
  }
}

function askOf(begun: string | null): AskId[] {
  const value: unknown = begun === null ? null : JSON.parse(begun);
  if (typeof value !== "object" || value === null || !("ask" in value)) return [];
  return typeof value.ask === "string" && isId("ask", value.ask) ? [value.ask] : [];
}

function unknownRun(reference: string): AegisError {
  return new AegisError("not_found", `no run "${reference}"`, { hint: "aegis workflow status lists them" });
}
