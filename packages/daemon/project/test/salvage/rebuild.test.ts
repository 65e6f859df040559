import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { message, sessionRow } from "@aegis/test/helpers/rows.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { openStore } from "../../../../base/store/test/open-store.ts";
import { insertRebuilt, rebuild, salvageReason } from "../../src/salvage/rebuild.ts";
import { readTranscript, sessionOf } from "../../src/salvage/transcript.ts";

const row = sessionRow({ handle: "first-one", title: "" });
const { id } = row;
const [turn, open] = [newId("trn", 1), newId("trn", 2)];
const [answered, cut, waiting] = [message(id), message(id), message(id)];

/** What the daemon would have written. */
function history(): Event[] {
  const { resume: _r, limits: _l, started_by: _s, root: _o, fork_point: _f, ...created } = row;
  const events = [
    { type: "session.created", data: { session: created } },
    { type: "message.admitted", data: { message: answered } },
    { type: "turn.started", data: { turn, messages: [answered.id], spontaneous: false } },
    { type: "session.titled", data: { title: "a title", source: "human" } },
    { type: "turn.text", data: { turn, message: "m", text: "said" } },
    { type: "turn.ended", data: { turn, reason: "completed", error: null, text: "said", usage: null } },
    { type: "message.admitted", data: { message: cut } },
    { type: "turn.started", data: { turn: open, messages: [cut.id], spontaneous: false } },
    { type: "message.admitted", data: { message: waiting } },
  ];
  return events.map((event, index) => ({ ...event, seq: index + 1, at: 100 + index, session: id })) as Event[];
}

it("makes a closed session in which nothing waits", () => {
  const rebuilt = rebuild(id, history(), 999);
  expect(rebuilt?.session).toMatchObject({
    id,
    handle: "first-one",
    title: "a title",
    state: "closed",
    closed_at: 999,
  });
  expect(rebuilt?.messages.map(({ status }) => status)).toEqual(["done", "lost", "lost"]);
  expect(rebuilt?.unanswered).toBe(2);
  const added = rebuilt?.events.slice(history().length).map(({ type }) => type);
  expect(added).toEqual(["turn.ended", "message.lost", "message.lost", "session.closed"]);
  expect(rebuilt?.events.at(-1)?.data).toEqual({ reason: salvageReason, refused: [] });
});

it("makes nothing of a transcript without its beginning", () => {
  expect(rebuild(id, history().slice(1), 999)).toBeNull();
});

it("is inserted whole, once", async () => {
  const { store } = await openStore(join(await tempDir(), "aegis.db"));
  const rebuilt = rebuild(id, history(), 999);
  if (rebuilt === null) throw new Error("nothing was rebuilt");
  expect(await store.transact((tx) => insertRebuilt(tx, rebuilt))).toBe(true);
  expect(await store.transact((tx) => insertRebuilt(tx, rebuilt))).toBe(false);
  expect(await store.read.sessions.countByState()).toMatchObject({ closed: 1, ready: 0 });
  expect(await store.read.turns.open()).toEqual([]);
  expect((await store.read.turns.get(turn))?.text).toBe("said");
  expect((await store.read.turns.get(open))?.reason).toBe("lost");
  expect(await store.read.messages.waiting()).toEqual([]);
  expect(await store.read.events.list({ session: id, limit: 100 })).toHaveLength(13);
});

it("reads past torn, strange and foreign lines, and events that are in two files", async () => {
  const dir = await tempDir();
  const whole = history().map((event) => JSON.stringify(event));
  const foreign = JSON.stringify({ ...history()[4], seq: 50, session: newId("ses", 5) });
  await writeFile(join(dir, "a"), [...whole.slice(0, 5), "{not json", foreign, '{"seq":51,"at":1'].join("\n"));
  await writeFile(join(dir, "b"), `${whole.slice(3).join("\n")}\n`);
  const read = await readTranscript(id, [join(dir, "a"), join(dir, "b")]);
  expect(read.events).toEqual(history());
  expect(read.unreadable).toBe(2);
});

it("knows transcripts by their names", () => {
  expect(sessionOf(`${id}.jsonl`)).toBe(id);
  expect(sessionOf(`${id}.database-0.jsonl`)).toBe(id);
  for (const name of [`${id}.txt`, "../x.jsonl", "ses_short.jsonl", "notes"]) expect(sessionOf(name)).toBeNull();
});
