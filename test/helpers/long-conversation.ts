/** A conversation with many events, written into the database of a project whose daemon is not running. */
import { DatabaseSync } from "node:sqlite";
import { storePath } from "@aegis/lib/daemon-file.ts";

const perTurn = 20;

/**
 * Appends turns of 20 events: a start, 18 texts `text <number>` and an end. The daemon must have been killed, because a
 * database that was closed cleanly may not be changed by others.
 */
export function addConversation(root: string, session: string, events: number): void {
  const db = new DatabaseSync(storePath(root));
  try {
    const { last } = db.prepare("SELECT max(seq) AS last FROM events").get() as { last: number };
    const insert = db.prepare("INSERT INTO events (seq, at, type, session, data) VALUES (?, ?, ?, ?, ?)");
    const at = Date.now() - events;
    db.exec("BEGIN");
    for (let index = 0; index < events; index++) {
      const { type, data } = eventAt(index);
      insert.run(last + 1 + index, at + index, type, session, JSON.stringify(data));
    }
    db.exec("COMMIT");
  } finally {
    db.close();
  }
}

function eventAt(index: number): { type: string; data: unknown } {
  const turn = `trn_long${Math.floor(index / perTurn)}`;
  const place = index % perTurn;
  if (place === 0) return { type: "turn.started", data: { turn, messages: [], spontaneous: false } };
  if (place === perTurn - 1)
    return { type: "turn.ended", data: { turn, reason: "completed", error: null, text: "", usage: null } };
  return { type: "turn.text", data: { turn, message: `m${index}`, text: `text ${index} of a long conversation` } };
}
