/**
 * Titles of sessions. The first request gives one at once, a title that the harness or the agent reports replaces it,
 * and a title from a person stays.
 */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Session, TitleSource } from "@aegis/contract/session.ts";
import { titleMaxLength } from "@aegis/contract/session.ts";
import { oneLineTitle, shortenTitle } from "@aegis/lib/title.ts";
import type { StoreTx } from "@aegis/store/store.ts";

const rank: Record<TitleSource, number> = { auto: 1, agent: 2, human: 3 };

export function mayRetitle(current: TitleSource | null, next: TitleSource): boolean {
  return current === null || rank[next] >= rank[current];
}

/** One line without control characters or surrounding quotes, truncated at a word. */
export function cleanTitle(text: string): string {
  return shortenTitle(oneLineTitle(text), titleMaxLength);
}

export type Retitle = { session: Pick<Session, "id" | "title">; title: string; source: TitleSource; now: number };

/** Stores the title with its event. An empty title clears it, and the next request gives a new one. */
export async function retitle(tx: StoreTx, { session, title, source, now }: Retitle): Promise<void> {
  const title_source = title === "" ? null : source;
  await tx.sessions.update(session.id, { title, title_source });
  if (title === session.title) return;
  await tx.events.append({ type: "session.titled", session: session.id, data: { title, source: title_source } }, now);
}

/** Stores a title that the harness reports, unless a person gave one. */
export async function reportedTitle(tx: StoreTx, id: SessionId, text: string, now: number): Promise<void> {
  const title = cleanTitle(text);
  const session = await tx.sessions.get(id);
  if (title === "" || session === null || !mayRetitle(session.title_source, "agent")) return;
  await retitle(tx, { session, title, source: "agent", now });
}
