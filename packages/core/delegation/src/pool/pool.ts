/** The pool: sessions of agents that are reused for one task after another and keep their conversation. */

import { placeBelow, type SessionPlace } from "@aegis/agents/rights/place.ts";
import {
  checkAllowed,
  checkBudget,
  checkChildren,
  checkDepth,
  checkEnabled,
  rulesFor,
  type SpawnRules,
  type SubagentSettings,
} from "@aegis/agents/rights/rules.ts";
import { starterOf } from "@aegis/agents/rights/starter.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { isId, type MessageId, type SessionId, type TurnId } from "@aegis/contract/ids.ts";
import type { Message, Sender } from "@aegis/contract/message.ts";
import type { PooledAgentView } from "@aegis/contract/subagent.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { SessionProcesses } from "@aegis/nodes/session-processes.ts";
import type { ClosedSession } from "@aegis/sessions/close.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import { hasForgotten } from "@aegis/sessions/memory.ts";
import type { SessionRow, Store, StoreTx } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import { Answers, openTurn } from "./answers.ts";
import { checkAgentName, checkPrompt, type Thoroughness, taskText, timeoutOf } from "./lease-request.ts";
import { Leases, type LeasesOptions } from "./leases.ts";

export type PoolOptions = Omit<LeasesOptions, "max"> & {
  store: Store;
  transact: Transact;
  log: Logger;
  inbox: Inbox;
  processes: SessionProcesses;
  /** Opens the conversation of a session, to find out whether the harness restored it. */
  recall: (session: SessionId) => Promise<void>;
  max: () => number;
  settings: () => SubagentSettings;
};

/** The caller and the idempotency key of the call. */
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
  /** The sessions that may be in the pool. */
  readonly #pooled = new Set<SessionId>();
  readonly #stop = new AbortController();

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#leases = new Leases(options);
    this.#answers = new Answers(options);
    const { store } = options;
    store.onCommit(
      (events) => {
        for (const { session } of events) if (session !== null) this.#pooled.add(session);
      },
      ["pool.leased"],
    );
    store.onCommit(
      (events) => {
        for (const { session } of events) if (session !== null) this.#pooled.delete(session);
      },
      ["session.closed"],
      "all",
      this.#pooled,
    );
    store.onCommit(
      (events) => {
        if (events.some((event) => agentsChanged.has(event.type))) this.#retire();
        // The new configuration may have a smaller cap.
        if (events.some((event) => event.type === "config.reloaded")) this.#trim();
      },
      [...agentsChanged],
      "own",
    );
    // After a restart, turns without a lease end.
    store.onCommit(() => this.#trim(), ["turn.ended"], "own", this.#pooled);
  }

  /** Gives a task to an idle session of the agent, which has its earlier conversation, or to a new one (`fresh`). */
  async run(
    call: PoolCall & { agent: string; prompt: string; files: readonly string[]; fresh: boolean },
  ): Promise<PoolAnswer> {
    checkAgentName(call.agent);
    checkPrompt("task_prompt", call.prompt);
    const rules = this.#check(call);
    const profile = this.#options.agents.get(call.agent);
    checkAllowed(rules, call.callerAgent, profile);
    const body = taskText(call.prompt, call.files, call.thoroughness);
    const turn = await openTurn(this.#options.store.read, call.caller.id);
    return this.#perform({ ...call, turn }, body, async (tx) => {
      const place = await this.#place(tx, call, rules, profile);
      const { caller: holder, message: lease, fresh } = call;
      return this.#leases.acquire(tx, { profile, place, holder, lease, fresh });
    });
  }

  /** Sends another request to a session that worked for the caller before. */
  async ask(call: PoolCall & { agent_id: string; text: string }): Promise<PoolAnswer> {
    checkPrompt("message", call.text);
    const rules = this.#check(call);
    const { store, recall } = this.#options;
    const turn = await openTurn(store.read, call.caller.id);
    // A repeated call only waits.
    if ((await store.read.messages.get(call.message)) === null)
      await recall(await store.transact((tx) => this.#known(tx, call, rules)));
    return this.#perform({ ...call, turn }, call.text, async (tx) => {
      const session = await this.#known(tx, call, rules);
      const lease = { id: call.message, holder: call.caller.id, since: this.#options.clock.now() };
      await this.#leases.hold(tx, session, lease, call.caller, false);
      return { session, closed: [] };
    });
  }

  /** Most recently used first. */
  async list(): Promise<PooledAgentView[]> {
    const { read } = this.#options.store;
    const rows = await read.pool.list();
    return Promise.all(
      rows.map(async (row) => {
        // Read before the state: a turn may take the pending messages in between.
        const pending = await read.messages.countPending(row.session);
        const session = await read.sessions.get(row.session);
        const working = session?.state === "working" || pending > 0;
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

  /** Ends the leases whose holders were on the node. */
  async recoverIn(tx: StoreTx, node: string | null): Promise<void> {
    const held = await tx.pool.list();
    const released = new Set(await tx.pool.releaseAll(node));
    for (const { session, key, lease } of held) {
      if (lease === null || !released.has(session)) continue;
      const data = { key, holder: lease.holder };
      await tx.events.append({ type: "pool.released", session, data }, this.#options.clock.now());
    }
  }

  /** Looks after all sessions of the pool. */
  async resume(): Promise<void> {
    for (const { session } of await this.#options.store.read.pool.list()) this.#pooled.add(session);
  }

  /** Releases all waiting callers. */
  stop(): void {
    this.#stop.abort(new AegisError("unavailable", "Aegis is stopping"));
  }

  #check({ callerAgent, caller }: PoolCall): SpawnRules {
    const rules = rulesFor(callerAgent, this.#options.settings());
    checkEnabled(rules);
    checkDepth(rules, caller);
    return rules;
  }

  /** One transaction writes the lease and the message; a repeated call finds both and only waits. */
  async #perform(
    call: PoolCall & { turn: TurnId | null },
    body: string,
    take: (tx: StoreTx) => Promise<{ session: SessionId; closed: ClosedSession[] }>,
  ): Promise<PoolAnswer> {
    const { store, transact, inbox, sessions } = this.#options;
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
        callerTurn: call.turn,
        repeated,
        timeoutMs: timeoutOf(call.thoroughness),
        signal: call.signal,
        stopping: this.#stop.signal,
      });
      return { result, agent_id: session };
    } finally {
      // The next daemon start releases what could not be released now.
      if (!this.#stop.signal.aborted) this.#leave(await transact((tx) => this.#leases.release(tx, session, id)));
    }
  }

  /** The place of a pooled agent in the caller's tree. Throws if the tree has no room. */
  async #place(
    tx: StoreTx,
    { caller, callerAgent }: PoolCall,
    rules: SpawnRules,
    profile: Agent,
  ): Promise<SessionPlace> {
    await checkChildren(tx, rules, caller.id);
    // The caller's agent as of its turn, which may be older than the profile.
    const starter = { ...(await starterOf(tx, caller.id, this.#options.agents)), agent: callerAgent };
    await checkBudget(tx, rules, starter.root, this.#options.clock.now());
    return placeBelow(starter, profile, this.#options.settings());
  }

  /** Only callers that gave it a task may continue its conversation. */
  async #known(tx: StoreTx, call: PoolCall & { agent_id: string }, rules: SpawnRules): Promise<SessionId> {
    const { agent_id: reference, caller } = call;
    const row = isId("ses", reference) ? await tx.pool.get(reference) : null;
    const session = row === null ? null : await tx.sessions.get(row.session);
    if (row === null || session === null || !(await tx.pool.wasUsedBy(row.session, caller.id))) {
      throw new AegisError(
        "not_found",
        `Agent not found: ${reference}. Agent may have been evicted from pool or ID is invalid.`,
        { hint: "call agent with the whole task" },
      );
    }
    const profile = this.#options.agents.loadAgent(session.agent);
    const place = profile === null ? null : await this.#place(tx, call, rules, profile);
    if (profile !== null) checkAllowed(rules, call.callerAgent, profile);
    // The caller may have lost rights since then; the agent must not keep them.
    const fits = profile !== null && place !== null && this.#leases.fits(row, profile, place);
    if (!fits || (await this.#leases.isStale(tx, row))) {
      throw new AegisError(
        "closed",
        `Agent ${reference} has changed since: its tools, model or prompt are different now.`,
        {
          hint: "call agent with the whole task",
        },
      );
    }
    if (await hasForgotten(tx, session.id, caller.id)) {
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
      return this.#options.transact((tx) => this.#leases.shrink(tx));
    });
  }

  #retire(): void {
    this.#inBackground("changed agents could not leave the pool", async () => {
      const { store, transact } = this.#options;
      if ((await store.read.pool.count()) === 0 || this.#stop.signal.aborted) return [];
      return transact((tx) => this.#leases.retire(tx));
    });
  }

  #inBackground(trouble: string, work: () => Promise<ClosedSession[]>): void {
    work().then(
      (closed) => this.#leave(closed),
      (error: unknown) => {
        if (!this.#stop.signal.aborted) this.#options.log.error(trouble, { error: errorText(error) });
      },
    );
  }

  #leave(closed: readonly ClosedSession[]): void {
    for (const one of closed) {
      this.#options.sessions.leave(one).catch((error: unknown) => {
        this.#options.log.warn("a pooled agent did not leave cleanly", { session: one.id, error: errorText(error) });
      });
    }
  }
}

/** Events after which an agent may be removed or changed. A plugin that is still loading does not affect others. */
const agentsChanged: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "config.reloaded",
  "plugin.reloaded",
  "plugin.removed",
  "plugin.failed",
]);
