/** Builds the session that a hook sees from the stored rows, never from what a caller claims. */
import type { HookSession } from "@aegis/contract/hook.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { SessionReads, SessionRow } from "@aegis/store/store.ts";

export function hookSession({ id, handle, agent, harness, depth }: SessionRow): HookSession {
  return { id, handle, agent, harness, depth };
}

export async function findSubject(
  from: { readonly sessions: SessionReads },
  id: SessionId | null,
): Promise<HookSession | null> {
  const row = id === null ? null : await from.sessions.get(id);
  return row === null ? null : hookSession(row);
}
