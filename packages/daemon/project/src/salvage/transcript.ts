/** Reads a session's transcript: the events in order, as far as the lines are complete and have a known shape. */
import { createReadStream } from "node:fs";
import { type Event, type EventType, eventSchemas } from "@aegis/contract/event.ts";
import { isId, type SessionId } from "@aegis/contract/ids.ts";
import { LineTooLongError, lines } from "@aegis/lib/jsonl.ts";

export type Transcript = {
  events: Event[];
  /**
   * The number of lines that are not an event of this session. A truncated last line does not count, because its event
   * was never complete.
   */
  unreadable: number;
};

/** Longer than any line that Aegis writes. */
const maxLineBytes = 512 * 1024 * 1024;

/** `ses_….jsonl` and `ses_….<anything>.jsonl` are transcripts of that session. */
export function sessionOf(fileName: string): SessionId | null {
  const id = fileName.slice(0, fileName.indexOf("."));
  return fileName.endsWith(".jsonl") && isId("ses", id) ? id : null;
}

/** Several files may contain parts of one transcript; duplicate events count once. */
export async function readTranscript(session: SessionId, files: readonly string[]): Promise<Transcript> {
  const events = new Map<number, Event>();
  let unreadable = 0;
  for (const file of files) {
    let isTorn = false;
    try {
      for await (const line of lines(createReadStream(file), { maxBytes: maxLineBytes })) {
        if (isTorn) unreadable += 1;
        const event = line.trim() === "" ? null : parseEvent(line, session);
        isTorn = event === null && line.trim() !== "";
        if (event !== null && !events.has(event.seq)) events.set(event.seq, event);
      }
    } catch (error) {
      if (!(error instanceof LineTooLongError)) throw error;
      unreadable += 1;
    }
  }
  return { events: [...events.values()].sort((a, b) => a.seq - b.seq), unreadable };
}

function parseEvent(line: string, session: SessionId): Event | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { seq, at, type, session: of, data } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(seq) || typeof at !== "number" || of !== session) return null;
  if (typeof type !== "string" || !Object.hasOwn(eventSchemas, type)) return null;
  const parsed = eventSchemas[type as EventType].safeParse(withDefaults(type, data), { jitless: true });
  if (!parsed.success) return null;
  return { seq, at, type, session, data: parsed.data } as Event;
}

/** Adds fields that older versions did not write. */
function withDefaults(type: string, data: unknown): unknown {
  if (type !== "session.created" || typeof data !== "object" || data === null || !("session" in data)) return data;
  const defaults = { title_source: null, depth: 0, ask_policy: "wait", forked_from: null, error: null, parent: null };
  return { ...data, session: { ...defaults, ...(data.session as object) } };
}
