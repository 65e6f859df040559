/** The pool: agents that do one task after the other for whoever asks, and keep in mind what they did. */
import type { Agent } from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import type { Event } from "../../contract/event.ts";
import { isId, type MessageId, type SessionId } from "../../contract/ids.ts";
import type { Message, Sender } from "../../contract/message.ts";
import type { PooledAgentView } from "../../contract/subagent.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Persist } from "../../store/persist.ts";
import type { SessionRow, Store, StoreTx } from "../../store/store.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { limitsBelow } from "../registry/limits.ts";
import type { Closed } from "../sessions/close.ts";
import type { Turns } from "../sessions/turns.ts";
import {
  checkAllowed,
  checkBudget,
  checkDepth,
  checkEnabled,
  rulesFor,
  type SpawnRules,
  type SubagentSettings,
  spawningTools,
} from "../subagents/rules.ts";
import { standingOf } from "../subagents/standing.ts";
import { Answers } from "./answers.ts";
import { Leases, type LeasesOptions } from "./leases.ts";
import { checkAgentName, checkPrompt, type Thoroughness, taskText, timeoutOf } from "./task.ts";

export type PoolOptions = Omit<LeasesOptions, "max"> & {
  store: Store;
  persist: Persist;
  log: Logger;
  inbox: Inbox;
  turns: Turns;
  max: () => number;
  settings: () => SubagentSettings;
};

/** Who calls, and what makes the call the same when it is repeated. */
export type PoolCall = {
  caller: SessionRow;
  callerAgent: Agent;
  sender: Sender;
  message: MessageId;
  cause?: Pick<Message, "chain" | "hops"> | undefined;
  thoroughness: Thoroughness;
  signal: AbortSignal;
};

export type PoolAnswer = { result: string; agent_id: SessionId };

export class Pool {
  readonly #options: PoolOptions;
  readonly #leases: Leases;
  readonly #answers: Answers;
  readonly #stop = new AbortController();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#leases = new Leases(options);
    this.#answers = new Answers(options);
    options.store.onCommit((events) => {
      if (events.some((event) => agentsChanged.has(event.type))) this.#retire();
      // After a restart turns end that nobody holds a lease for, and a new configuration may set a smaller cap.
      if (events.some((event) => event.type === "turn.ended" || event.type === "config.reloaded")) this.#trim();
    });
  }

  /** Has an agent of that name do the task: an idle one that knows of earlier ones, or a new one; a `fresh` one is new. */
  async run(
    call: PoolCall & { agent: string; prompt: string; files: readonly string[]; fresh: boolean },
  ): Promise<PoolAnswer> {
    checkAgentName(call.agent);
    checkPrompt("task_prompt", call.prompt);
    const rules = this.#check(call);
    const profile = this.#options.agents.get(call.agent);
    checkAllowed(rules, profile);
    const body = taskText(call.prompt, call.files, call.thoroughness);
    return this.#perform(call, body, async (tx) => {
      const { root } = await standingOf(tx, call.caller.id);
      await checkBudget(tx, rules, root);
      const maySpawn = call.caller.depth + 1 < rules.max_spawn_depth;
      const limits = limitsBelow(call.callerAgent, profile, { deny_tools: maySpawn ? [] : spawningTools });
      const acquired = await this.#leases.acquire(tx, {
        profile,
        limits,
        holder: call.caller,
        lease: call.message,
        fresh: call.fresh,
      });
      return { session: acquired.session, closed: acquired.closed };
    });
  }

  /** Asks one that did a task for the caller before. */
  async ask(call: PoolCall & { agent_id: string; text: string }): Promise<PoolAnswer> {
    checkPrompt("message", call.text);
    const rules = this.#check(call);
    return this.#perform(call, call.text, async (tx) => {
      const { root } = await standingOf(tx, call.caller.id);
      await checkBudget(tx, rules, root);
      const session = await this.#known(tx, call.agent_id, call.caller);
      const lease = { id: call.message, holder: call.caller.id, since: this.#options.clock.now() };
      await this.#leases.hold(tx, session, lease, call.caller, false);
      return { session, closed: [] };
    });
  }

  /** The last used first. */
  async list(): Promise<PooledAgentView[]> {
    const { read } = this.#options.store;
    const rows = await read.pool.list();
    return Promise.all(
      rows.map(async (row) => {
        const session = await read.sessions.get(row.session);
        const working = session?.state === "working" || (await read.messages.countPending(row.session)) > 0;
        return {
          ...row,
          handle: session?.handle ?? row.session,
          state: row.lease !== null || working ? ("busy" as const) : ("idle" as const),
          stale: await this.#leases.isStale(read, row),
        };
      }),
    );
  }

  get max(): number {
    return this.#options.max();
  }

  /** Nobody holds anything after a stop. Gives how many leases it ended. */
  async recover(): Promise<number> {
    const { store, clock } = this.#options;
    return store.transact(async (tx) => {
      const held = (await tx.pool.list()).filter((row) => row.lease !== null);
      await tx.pool.releaseAll();
      for (const { session, key, lease } of held) {
        if (lease === null) continue;
        await tx.events.append({ type: "pool.released", session, data: { key, holder: lease.holder } }, clock.now());
      }
      return held.length;
    });
  }

  /** Lets go of everybody who waits. */
  stop(): void {
    this.#stop.abort(new AegisError("unavailable", "Aegis is stopping"));
  }

  #check({ callerAgent, caller }: PoolCall): SpawnRules {
    const rules = rulesFor(callerAgent, this.#options.settings());
    checkEnabled(rules);
    checkDepth(rules, caller);
    return rules;
  }

  /** The lease and the message are one transaction; a call that is repeated finds both done and only waits. */
  async #perform(
    call: PoolCall,
    body: string,
    take: (tx: StoreTx) => Promise<{ session: SessionId; closed: Closed[] }>,
  ): Promise<PoolAnswer> {
    const { store, inbox, sessions } = this.#options;
    const { message: id, sender, cause } = call;
    const { session, closed, repeated } = await store.transact(async (tx) => {
      const before = await tx.messages.get(id);
      if (before) return { session: before.session, closed: [], repeated: true };
      const taken = await take(tx);
      await inbox.admitIn(tx, { id, session: taken.session, sender, body, cause });
      return { ...taken, repeated: false };
    });
    this.#leave(closed);
    sessions.wake(session);
    try {
      const result = await this.#answers.get({
        session,
        message: id,
        caller: call.caller.id,
        repeated,
        timeoutMs: timeoutOf(call.thoroughness),
        signal: call.signal,
        stopping: this.#stop.signal,
      });
      return { result, agent_id: session };
    } finally {
      // What could not be released now is released by the next start.
      if (!this.#stop.signal.aborted) await this.#release(session, id);
    }
  }

  async #release(session: SessionId, lease: MessageId): Promise<void> {
    this.#leave(await this.#options.persist((tx) => this.#leases.release(tx, session, lease)));
  }

  /** Only those who gave it a task know what it has in mind. */
  async #known(tx: StoreTx, reference: string, caller: SessionRow): Promise<SessionId> {
    const row = isId("ses", reference) ? await tx.pool.get(reference) : null;
    const session = row === null ? null : await tx.sessions.get(row.session);
    if (row === null || session === null || !(await tx.pool.wasUsedBy(row.session, caller.id))) {
      throw new AegisError(
        "not_found",
        `Agent not found: ${reference}. Agent may have been evicted from pool or ID is invalid.`,
        { hint: "call agent with the whole task" },
      );
    }
    if (await this.#leases.isStale(tx, row)) {
      throw new AegisError(
        "closed",
        `Agent ${reference} has changed since: its tools, model or prompt are others now.`,
        {
          hint: "call agent with the whole task",
        },
      );
    }
    if (!this.#options.remembers(session)) {
      throw new AegisError("closed", `Agent ${reference} lost its memory when Aegis restarted.`, {
        hint: "call agent with the whole task",
      });
    }
    const idle = (await tx.pool.idle(row)).some((one) => one.session === row.session);
    if (idle) return row.session;
    throw new AegisError("conflict", `Agent ${reference} is currently in use. Wait for current operation to complete.`);
  }

  #trim(): void {
    this.#inBackground("the pool could not be trimmed", async () => {
      if ((await this.#options.store.read.pool.count()) <= this.max || this.#stop.signal.aborted) return [];
      return this.#options.persist((tx) => this.#leases.shrink(tx));
    });
  }

  #retire(): void {
    this.#inBackground("changed agents could not leave the pool", async () => {
      const { store, persist } = this.#options;
      if ((await store.read.pool.count()) === 0 || this.#stop.signal.aborted) return [];
      return persist((tx) => this.#leases.retire(tx));
    });
  }

  #inBackground(trouble: string, work: () => Promise<Closed[]>): void {
    work().then(
      (closed) => this.#leave(closed),
      (error: unknown) => {
        if (!this.#stop.signal.aborted) this.#options.log.error(trouble, { error: errorText(error) });
      },
    );
  }

  #leave(closed: readonly Closed[]): void {
    for (const one of closed) {
      this.#options.sessions.leave(one).catch((error: unknown) => {
        this.#options.log.warn("a pooled agent did not leave cleanly", { session: one.id, error: errorText(error) });
      });
    }
  }
}

/** After these an agent may be gone or another one. Plugins that are only being loaded say nothing about the others. */
const agentsChanged: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "config.reloaded",
  "plugin.reloaded",
  "plugin.removed",
  "plugin.failed",
]);
