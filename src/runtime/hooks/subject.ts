/** Who a hook is called for, always as the rows have it: nobody's own word about who he is counts. */
import type { HookSession } from "../../contract/hook.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { SessionReads, SessionRow } from "../../store/store.ts";

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
