/** The sessions of one run. A run finds its sessions by id, so a rename does not matter. */
import { AegisError } from "@aegis/contract/errors.ts";
import { isId, type SessionId } from "@aegis/contract/ids.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { SessionReads, SessionRow } from "@aegis/store/store.ts";

export class OwnSessions {
  readonly #byHandle = new Map<string, SessionId>();
  readonly #started = new Set<SessionId>();

  /** Adds a session that the run uses but did not start. */
  know(handle: string, session: SessionId): void {
    this.#byHandle.set(handle, session);
  }

  add(handle: string, session: SessionId): void {
    this.know(handle, session);
    this.#started.add(session);
  }

  has(session: SessionId): boolean {
    return this.#started.has(session);
  }

  get ids(): SessionId[] {
    return [...this.#started];
  }

  /** Works inside or outside a transaction. Throws `not_found` with the nearest handle. */
  async find(from: { sessions: SessionReads }, handle: string): Promise<SessionRow> {
    const id = this.#byHandle.get(handle) ?? (isId("ses", handle) ? handle : undefined);
    const row = id === undefined ? await from.sessions.byHandle(handle) : await from.sessions.get(id);
    if (row) return row;
    const live = (await from.sessions.list({ closed: false })).map((session) => session.handle);
    throw new AegisError("not_found", `no session "${handle}"${didYouMean(handle, live)}`);
  }
}
