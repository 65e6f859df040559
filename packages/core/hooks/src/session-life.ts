/**
 * Tracks which plugins received `session_start` and when `session_end` is due. `session_start` comes before everything
 * else that a plugin receives about the session, `session_end` after everything else, and no plugin gets one without
 * the other.
 */
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";

/** `reason` is null if the session was closed before the daemon started; its `session.closed` event has the reason. */
export type SessionOver = { session: SessionId; reason: string | null };

export class SessionLife {
  /** The `session_start` calls per plugin since the daemon started. */
  readonly #starts = new Map<SessionId, Map<string, Promise<void>>>();
  /** Sessions with a running turn. */
  readonly #working = new Set<SessionId>();
  /** Sessions that were closed during a turn, with the reason. */
  readonly #closing = new Map<SessionId, string>();

  /** Calls each plugin that was not called yet. Returns the calls of all plugins. */
  start(session: SessionId, plugins: readonly string[], call: (plugin: string) => Promise<void>): Promise<void>[] {
    const starts = this.#starts.get(session) ?? new Map<string, Promise<void>>();
    this.#starts.set(session, starts);
    for (const plugin of plugins) if (!starts.has(plugin)) starts.set(plugin, call(plugin));
    return [...starts.values()];
  }

  /** The calls of all plugins, or null if one of these was not called yet. */
  started(session: SessionId, plugins: readonly string[]): Promise<void>[] | null {
    const starts = this.#starts.get(session);
    return starts !== undefined && plugins.every((plugin) => starts.has(plugin)) ? [...starts.values()] : null;
  }

  /** Events were missed: `working` are the sessions with a running turn now. */
  reset(working: Iterable<SessionId>): void {
    this.#working.clear();
    this.#closing.clear();
    for (const session of working) this.#working.add(session);
  }

  forget(session: SessionId): void {
    this.#starts.delete(session);
  }

  /** Must get every event in order, except before `reset`. Returns the session whose end may be reported after this event. */
  take(event: Event): SessionOver | null {
    const { session } = event;
    if (session === null) return null;
    if (event.type === "turn.started") this.#working.add(session);
    if (event.type === "session.closed") {
      if (!this.#working.has(session)) return { session, reason: event.data.reason };
      this.#closing.set(session, event.data.reason);
    }
    if (event.type !== "turn.ended") return null;
    const wasWorking = this.#working.delete(session);
    const reason = this.#closing.get(session) ?? null;
    this.#closing.delete(session);
    // A turn of an earlier daemon: its session may have been closed while it ran.
    return reason !== null || !wasWorking ? { session, reason } : null;
  }
}
