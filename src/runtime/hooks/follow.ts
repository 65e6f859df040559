/**
 * Observers: what they are told comes from events, after these are durable. They learn of everything in the order it
 * happened, whoever caused it, and nothing that happens waits for them. A crash may keep something from them, never tell
 * them twice.
 */
import type { Event, EventOf } from "../../contract/event.ts";
import type { HookContexts, HookObserver } from "../../contract/hook.ts";
import type { SessionId } from "../../contract/ids.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import { renderBatch } from "../inbox/render.ts";
import type { HookBus } from "./bus.ts";
import { findSubject, hookSession } from "./subject.ts";

export type FollowOptions = { bus: HookBus; store: Store; log: Logger; projectRoot: string };

/** Events whose contexts may wait to be read from the store. */
const mostWaiting = 10_000;

export class HookFeed {
  readonly #options: FollowOptions;
  /** Sessions whose start was told. */
  readonly #started = new Set<SessionId>();
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  /** Returns its undo. */
  follow(): () => void {
    return this.#options.store.onCommit((events) => {
      for (const event of events) this.#take(event);
    });
  }

  /** A conversation was opened: the session starts with the first one, or goes on with it after a restart. */
  opened(session: SessionRow, resumed: boolean): void {
    if (this.#started.has(session.id)) return;
    this.#started.add(session.id);
    this.#tell("session_start", session.id, async () => ({
      session: hookSession(session),
      projectRoot: this.#options.projectRoot,
      resumed,
    }));
  }

  /** Resolves when everything so far is on its way to the hooks. */
  settled(): Promise<void> {
    return this.#tail;
  }

  #take(event: Event): void {
    if (event.type === "turn.ended") this.#turnEnded(event);
    else if (event.type === "session.closed") this.#sessionClosed(event);
    else if (event.type === "message.admitted") this.#admitted(event);
    else if (event.type === "task.enqueued") this.#enqueued(event);
    else if (event.type === "subagent.spawned") this.#spawned(event);
    else if (event.type === "subagent.ended") this.#subagentEnded(event);
    else if (event.type === "config.rejected") this.#configRejected(event);
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

  #sessionClosed({ session: id, data }: EventOf<"session.closed">): void {
    const { projectRoot, store } = this.#options;
    if (id === null) return;
    this.#started.delete(id);
    this.#tell("session_end", id, async () =>
      withSession(await findSubject(store.read, id), (session) => ({ session, projectRoot, reason: data.reason })),
    );
  }

  /** An agent gave work to a peer. What goes between a subagent and its parent has events of its own. */
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

  /** Contexts are read one after the other, so that hooks are called in the order of events. */
  #tell<E extends HookObserver>(event: E, lane: string, context: () => Promise<HookContexts[E] | null>): void {
    const { bus, log } = this.#options;
    if (!bus.has(event)) return;
    if (this.#waiting >= mostWaiting) {
      log.warn("an observer was left out: too many wait", { event });
      return;
    }
    this.#waiting++;
    this.#tail = this.#tail.then(async () => {
      try {
        const given = await context();
        if (given !== null) bus.observe(event, given, lane);
      } catch (error) {
        log.warn("observers could not be told", { event, error: errorText(error) });
      } finally {
        this.#waiting--;
      }
    });
  }
}

/** What concerns no session. */
export const daemonLane = "daemon";

function withSession<S, T>(session: S | null, make: (session: S) => T): T | null {
  return session === null ? null : make(session);
}
