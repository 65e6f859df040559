// @module-tag slow
/** A database that was damaged, emptied or deleted: it is told, and its sessions come back from their transcripts. */
import { appendFile, open, readdir, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { obedient } from "../helpers/project.ts";
import { done } from "../helpers/projects/stranger.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

type Loss = { kind: string; reason: string | null; set_aside: string | null };
type Ps = { sessions: { id: string; handle: string; state: string; agent: string; title: string }[]; losses: Loss[] };
type History = { events: { type: string; data: Record<string, unknown> }[] };
type Report = {
  salvaged: number;
  sessions: { id: string; handle: string; unanswered: number; unreadable: number }[];
  left: { what: string; reason: string }[];
};

/** A project with one session that answered and one whose turn is in progress, stopped. */
async function used(): Promise<AegisProject> {
  const at = await aegisProject(obedient);
  await done(at, "spawn", "dev", "--handle", "first-one");
  await done(at, "send", "first-one", "hello there", "--wait");
  await done(at, "spawn", "dev", "--handle", "second-one");
  await done(at, "send", "second-one", "hold gate");
  await done(at, "send", "second-one", "words that wait");
  await waitUntil("the second one works", async () => {
    const { sessions } = await at.json<Ps>("ps");
    return sessions.some(({ handle, state }) => handle === "second-one" && state === "working");
  });
  await done(at, "down", "--force");
  return at;
}

const database = (at: AegisProject) => join(at.root, ".aegis/state/aegis.db");

/** Destroys the middle of the file and leaves its first page. */
async function scribble(path: string): Promise<void> {
  const { size } = await stat(path);
  const file = await open(path, "r+");
  await file.write(Buffer.alloc(size - 8192, 0x5a), 0, size - 8192, 8192);
  await file.close();
}

const harms: [string, (at: AegisProject) => Promise<void>][] = [
  ["damaged", (at) => scribble(database(at))],
  ["damaged", (at) => writeFile(database(at), "this is no database at all, whatever it was before")],
  ["emptied", (at) => truncate(database(at), 0)],
  ["missing", (at) => rm(database(at))],
];

it.each(harms)(
  "a %s database is told by status, up and ps until it is salvaged",
  { timeout: scaled(120_000) },
  async (kind, harm) => {
    const at = await used();
    await harm(at);
    const before = await at.json<{ running: boolean; store: { losses: Loss[] } }>("status");
    if (kind !== "damaged") expect(before).toMatchObject({ running: false, store: { losses: [{ kind }] } });

    const up = await at.aegis("up");
    expect(up).toMatchObject({ code: 0 });
    expect(up.stdout).toContain(`The database of this project was ${kind}`);
    expect(up.stdout).toContain("aegis store salvage");
    const ps = await at.aegis("ps");
    expect(ps.stderr).toContain(`The database of this project was ${kind}`);
    expect((await at.aegis("status")).stdout).toContain(`The database of this project was ${kind}`);
    await done(at, "down");
    // Told again by the next daemon, and only once.
    expect((await at.json<Ps>("ps")).losses).toMatchObject([{ kind }]);
    const { losses } = (await at.json<{ store: { losses: Loss[] } }>("status")).store;
    expect(losses).toHaveLength(1);
    const refused = await at.aegis("store", "salvage", "--yes");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("a daemon already runs for this project");
    await done(at, "down");

    const unasked = await at.aegis("store", "salvage");
    expect(unasked.code).toBe(1);
    expect(unasked.stderr).toContain("--yes");
    const report = await at.json<Report>("store", "salvage", "--yes");
    expect(report.salvaged).toBe(2);
    expect(report.sessions.map(({ handle }) => handle)).toEqual(["first-one", "second-one"]);
    expect(report.sessions[1]?.unanswered).toBe(2);
    expect(report.left.map(({ what }) => what)).toContain("what harnesses remember");
    expect((await at.json<Report>("store", "salvage", "--yes")).salvaged).toBe(0);

    const after = await at.json<Ps>("ps", "--all");
    expect(after.losses).toEqual([]);
    expect(after.sessions).toMatchObject([
      { handle: "second-one", state: "closed", agent: "dev" },
      { handle: "first-one", state: "closed", agent: "dev", title: "hello there" },
    ]);
    const { events } = await at.json<History>("history", after.sessions[1]?.id ?? "");
    expect(events.filter(({ type }) => type === "turn.text").map(({ data }) => data.text)).toEqual([
      "you said: hello there",
    ]);
    expect(await done(at, "history", after.sessions[1]?.id ?? "")).toContain("you said: hello there");
    // Nothing that waited was sent.
    const second = await at.json<History>("history", after.sessions[0]?.id ?? "");
    expect(second.events.filter(({ type }) => type === "message.lost")).toHaveLength(2);
    expect(await at.json("status")).toMatchObject({
      pending_messages: 0,
      sessions: { working: 0, ready: 0, closed: 2 },
    });
  },
);

it("salvages past torn and foreign lines, beside sessions of the new database", {
  timeout: scaled(60_000),
}, async () => {
  const at = await used();
  await rm(database(at));
  await done(at, "spawn", "dev", "--handle", "third-one");
  await done(at, "down");
  const sessions = join(at.root, ".aegis/state/sessions");
  const [first = ""] = (await readdir(sessions)).sort();
  await appendFile(join(sessions, first), '{"seq":9999,"at":1,"type":"session.titled"}\n{"seq": 10000, "at"');
  const report = await at.json<Report>("store", "salvage", "--yes");
  expect(report).toMatchObject({ salvaged: 2, sessions: [{ handle: "first-one", unreadable: 1 }, { unreadable: 0 }] });
  const after = await at.json<Ps>("ps", "--all");
  expect(after.sessions.map(({ handle, state }) => [handle, state])).toContainEqual(["third-one", "ready"]);
  expect(after.sessions).toHaveLength(3);
});

it("refuses state that is not the user's", { timeout: scaled(60_000) }, async () => {
  const at = await used();
  await rm(join(at.root, ".aegis/state/owner.json"));
  const { code, stderr } = await at.aegis("store", "salvage", "--yes");
  expect(code).toBe(3);
  expect(stderr).toContain("is not known to be yours");
});

it("a loss can be forgotten without bringing anything back", { timeout: scaled(60_000) }, async () => {
  const at = await used();
  await truncate(database(at), 0);
  await done(at, "up");
  await done(at, "down");
  expect(await done(at, "store", "forget")).toContain("no longer reported");
  expect((await at.json<Ps>("ps", "--all")).losses).toEqual([]);
});

it("reads what is left in a damaged database when the transcripts are gone too", {
  timeout: scaled(60_000),
}, async () => {
  const at = await used();
  const { size } = await stat(database(at));
  const file = await open(database(at), "r+");
  await file.write(Buffer.alloc(4096, 0x5a), 0, 4096, size - 4096);
  await file.close();
  await rm(join(at.root, ".aegis/state/sessions"), { recursive: true });
  await done(at, "up");
  await done(at, "down");
  const [aside = ""] = (await readdir(join(at.root, ".aegis/state"))).filter((name) => name.includes(".corrupt-"));
  const wrong = await at.aegis("store", "salvage", "--yes", "--from", "../../etc/passwd");
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a database that was set aside") });
  const report = await at.json<Report>("store", "salvage", "--yes", "--from", aside);
  expect(report.sessions.map(({ handle }) => handle)).toContain("first-one");
  const { sessions } = await at.json<Ps>("ps", "--all");
  const first = sessions.find(({ handle }) => handle === "first-one");
  expect(await done(at, "history", first?.id ?? "")).toContain("you said: hello there");
});
