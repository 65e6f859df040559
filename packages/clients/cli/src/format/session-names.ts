/** The name of each session in output: its handle, with a label if no model answers in it. */
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Session } from "@aegis/contract/session.ts";

type Named = Pick<Session, "id" | "handle" | "offline">;

export class SessionNames {
  readonly #known = new Map<SessionId, { handle: string; offline: boolean }>();

  constructor(sessions: Iterable<Named> = []) {
    for (const session of sessions) this.add(session);
  }

  add(session: Named): void {
    this.#known.set(session.id, { handle: session.handle, offline: session.offline });
  }

  /** Updates the names from an event. */
  learn(event: Event): void {
    if (event.type === "session.created") this.add(event.data.session);
    if (event.type === "session.renamed" && event.session !== null) {
      const known = this.#known.get(event.session);
      if (known !== undefined) known.handle = event.data.handle;
    }
  }

  label(id: SessionId): string {
    const known = this.#known.get(id);
    return known === undefined ? id : sessionLabel(known);
  }
}

export function sessionLabel(session: { handle: string; offline: boolean }): string {
  return session.offline ? `${session.handle} (offline)` : session.handle;
}
