/**
 * Calls observers from events, after the events are durable. Observers get all events in order, regardless of the
 * cause. Aegis never waits for observers, except that a session's first turn waits for `session_start`. Delivery is
 * at-most-once: a crash may lose a call but never repeats one.
 */
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { HookContexts, HookObserver } from "@aegis/contract/hook.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { TurnContributor } from "@aegis/sessions/extensions.ts";
import { renderBatch } from "@aegis/sessions/inbox/render.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import type { HookBus } from "./bus.ts";
import type { HookTable } from "./hook-table.ts";
import { SessionLife, type SessionOver } from "./session-life.ts";
import { findSubject, hookSession } from "./subject.ts";

export type HookFollowOptions = { bus: HookBus; store: Store; log: Logger; projectRoot: string };

/** The maximum of events whose contexts are not read from the store yet. */
const mostWaiting = 10_000;

export class HookFeed {
  readonly #options: HookFollowOptions;
  readonly #life = new SessionLife();
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: HookFollowOptions) {
    this.#options = options;
    options.bus.useStart((session) => this.begin(session));
  }

  /**
   * Follows the events while there are hooks. `working` are the sessions with a running turn. Returns a function that
   * stops following.
   */
  follow(table: HookTable, working: () => Iterable<SessionId>): () => void {
    table.onUse(() => this.#life.reset(working()));
    return this.#options.store.onCommit(
      (events) => {
        for (const event of events) this.#take(event);
      },
      undefined,
      "own",
      table.events,
    );
  }

  /**
   * Calls `session_start` of each plugin that has not received it for this session since the daemon started. Resolves
   * when its hooks have returned, failed or timed out.
   */
  async begin(id: SessionId): Promise<void> {
    const { bus, store } = this.#options;
    let calls = this.#life.started(id, bus.pluginsWith("session_start"));
    if (calls === null)
      await this.#inOrder("session_start", async () => {
        const row = await store.read.sessions.get(id);
        // Its end, which comes with a start of its own if there was none, may have been told already.
        if (row !== null && row.closed_at === null) calls = await this.#callStart(row);
      });
    await Promise.all(calls ?? []);
  }

  /** Resolves when all events so far have been passed to the hooks. */
  settled(): Promise<void> {
    return this.#tail;
  }

  #take(event: Event): void {
    const over = this.#life.take(event);
    if (event.type === "turn.ended") this.#turnEnded(event);
    else if (event.type === "session.created") this.#created(event);
    else if (event.type === "message.admitted") this.#admitted(event);
    else if (event.type === "task.enqueued") this.#enqueued(event);
    else if (event.type === "subagent.spawned") this.#spawned(event);
    else if (event.type === "subagent.ended") this.#subagentEnded(event);
    else if (event.type === "config.rejected") this.#configRejected(event);
    if (over !== null) this.#sessionOver(over);
  }

  #created({ session: id }: EventOf<"session.created">): void {
    if (id !== null) void this.begin(id);
  }

  #turnEnded({ session: id, data }: EventOf<"turn.ended">): void {
    const { projectRoot, store } = this.#options;
    const { turn, reason, error, text, usage } = data;
    if (id === null) return;
    const subject = () => findSubject(store.read, id);
    if (reason === "cancelled")
      this.#tell("on_interrupt", id, async () => withSession(await subject(), (session) => ({ session, turn })));
    if (reason === "failed" || reason === "lost") {
      const failure = error ?? { code: "internal", message: `the turn ${reason}` };
      this.#tell("on_error", id, async () => ({ session: await subject(), error: failure }));
    }
    this.#tell("post_turn", id, async () => {
      const userMessage = renderBatch(await store.read.messages.inTurn(turn));
      return withSession(await subject(), (session) => {
        return { session, turn, userMessage, assistantMessage: text, reason, error, usage, projectRoot };
      });
    });
  }

  async #callStart(row: SessionRow): Promise<Promise<void>[]> {
    const { bus, store, projectRoot } = this.#options;
    const resumed = (await store.read.turns.countEndedAfter(row.id, 0)) > 0;
    const context = { session: hookSession(row), projectRoot, resumed };
    return this.#life.start(row.id, bus.pluginsWith("session_start"), (plugin) =>
      bus.observeIn(plugin, "session_start", context, row.id),
    );
  }

  #sessionOver({ session: id, reason }: SessionOver): void {
    const { bus, projectRoot, store } = this.#options;
    const told = this.#inOrder("session_end", async () => {
      const row = await store.read.sessions.get(id);
      if (row === null || row.closed_at === null) return;
      // The plugin was loaded after the session started, or the session had no turn since the restart.
      await this.#callStart(row);
      const context = { session: hookSession(row), projectRoot, reason: reason ?? (await this.#whyClosed(id)) };
      bus.observe("session_end", context, id);
    });
    void told.then(() => this.#life.forget(id));
  }

  async #whyClosed(session: SessionId): Promise<string> {
    const query = { session, types: ["session.closed" as const], limit: 1, from: "newest" as const };
    const [closed] = await this.#options.store.read.events.list(query);
    return closed?.type === "session.closed" ? closed.data.reason : "closed";
  }

  /** An agent gave work to a peer. Messages between a subagent and its parent have events of their own. */
  #admitted({ session: id, data: { message } }: EventOf<"message.admitted">): void {
    const { sender } = message;
    if (sender.kind !== "agent" || id === null) return;
    this.#tell("on_handoff", id, async () => {
      const { sessions } = this.#options.store.read;
      const [from, to] = [await sessions.get(sender.session), await sessions.get(id)];
      if (from === null || to === null || from.parent === to.id || to.parent === from.id) return null;
      return { from: hookSession(from), to: hookSession(to), message: message.id, content: message.body };
    });
  }

  #enqueued({ data: { queue, task } }: EventOf<"task.enqueued">): void {
    const { store } = this.#options;
    this.#tell("on_enqueue", `queue ${queue}`, async () => {
      return { queue, task: task.id, payload: task.payload, from: await findSubject(store.read, task.producer) };
    });
  }

  #spawned({ data: { subagent } }: EventOf<"subagent.spawned">): void {
    const { session: id, parent: parentId, run_id: runId, label, task } = subagent;
    this.#tell("subagent_spawned", id, async () => {
      const [session, parent] = await this.#pair(id, parentId);
      return session && parent && { session, parent, runId, label, task };
    });
  }

  #subagentEnded({ session: parentId, data }: EventOf<"subagent.ended">): void {
    const { session: id, run_id: runId, label, status } = data;
    this.#tell("subagent_ended", id, async () => {
      const [session, parent] = await this.#pair(id, parentId);
      return session && parent && { session, parent, runId, label, status, result: data.result ?? data.error ?? "" };
    });
  }

  #configRejected({ data: { problems } }: EventOf<"config.rejected">): void {
    const error = { code: "config", message: problems.join("\n") };
    this.#tell("on_error", daemonLane, async () => ({ session: null, error }));
  }

  #pair(session: SessionId, parent: SessionId | null) {
    const { read } = this.#options.store;
    return Promise.all([findSubject(read, session), findSubject(read, parent)]);
  }

  #tell<E extends HookObserver>(event: E, lane: string, context: () => Promise<HookContexts[E] | null>): void {
    const { bus } = this.#options;
    void this.#inOrder(event, async () => {
      const given = await context();
      if (given !== null) bus.observe(event, given, lane);
    });
  }

  /** Reads contexts one after another, so that hooks are called in event order. Never rejects. */
  #inOrder(event: HookObserver, tell: () => Promise<void>): Promise<void> {
    const { bus, log } = this.#options;
    if (!bus.events.has(event)) return Promise.resolve();
    if (this.#waiting >= mostWaiting) {
      log.warn("an observer was left out: too many wait", { event });
      return Promise.resolve();
    }
    this.#waiting++;
    const told = this.#tail.then(async () => {
      try {
        await tell();
      } catch (error) {
        log.warn("observers could not be notified", { event, error: errorText(error) });
      } finally {
        this.#waiting--;
      }
    });
    this.#tail = told;
    return told;
  }
}

/** Delays the first turn of a session until plugins have handled `session_start`. */
export function afterSessionStart(feed: HookFeed): TurnContributor {
  return {
    hook: "session_start",
    async contribute({ session }) {
      await feed.begin(session);
      return null;
    },
  };
}

/** The lane of events without a session. */
export const daemonLane = "daemon";

function withSession<S, T>(session: S | null, make: (session: S) => T): T | null {
  return session === null ? null : make(session);
}
