import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aboutOf, fromOthers, parseProposals, withoutOthers } from "../../plugins/memory-system/_consolidate.ts";
import { type Entry, Memory, type NewEntry, slugOf } from "../../plugins/memory-system/_entries.ts";
import { Influence } from "../../plugins/memory-system/_influence.ts";
import { recall, search } from "../../plugins/memory-system/_recall.ts";
import { readTranscript, recentFiles } from "../../plugins/memory-system/_transcripts.ts";
import { tempDir } from "../helpers/temp-dir.ts";

const tea: NewEntry = {
  type: "user",
  name: "Likes tea",
  description: 'when drinks: are offered — "always"',
  content: "Green, without sugar.\n\n---\n\nNot after six.",
  source: "user",
};

function entry(fields: Partial<Entry>): Entry {
  const at = new Date(0).toISOString();
  return { ...tea, slug: "s", held: false, created: at, updated: at, ...fields };
}

describe("entries", () => {
  it("come back as they were written, whatever their text", async () => {
    const memory = new Memory(await tempDir());
    const added = await memory.add(tea);
    expect(added).toMatchObject({ ...tea, slug: "user_likes-tea", held: false });
    expect(await memory.list()).toEqual([added]);
    const index = await readFile(join(memory.dir, "MEMORY.md"), "utf8");
    expect(index).toBe(`# Memory index\n\n## Index\n\n- [Likes tea](entries/user_likes-tea.md) — ${tea.description}\n`);
    await expect(memory.add(tea)).rejects.toThrow('"user_likes-tea" is remembered already');
  });

  it("can be changed and forgotten; an unknown one is told with what is like it", async () => {
    const memory = new Memory(await tempDir());
    await memory.add(tea);
    const changed = await memory.replace("user_likes-tea", { content: "Black." });
    expect(changed).toMatchObject({ name: tea.name, content: "Black." });
    await expect(memory.get("likes-tea")).rejects.toThrow("there is: user_likes-tea");
    await memory.remove("user_likes-tea");
    expect(await memory.list()).toEqual([]);
    await expect(memory.remove("user_likes-tea")).rejects.toThrow("nothing is remembered");
  });

  it.each(["tool", "peer"] as const)("from a %s are held: listed for people, kept from agents", async (source) => {
    const memory = new Memory(await tempDir());
    await memory.add({ ...tea, source });
    expect(await memory.active()).toEqual([]);
    expect(await memory.list()).toMatchObject([{ held: true }]);
    expect(await readFile(join(memory.dir, "MEMORY.md"), "utf8")).toContain("## Held for review\n\n- [Likes tea]");
    await memory.replace("user_likes-tea", { held: false });
    expect(await memory.active()).toHaveLength(1);
  });

  it("written by hand are read, with CRLF and without most of their fields", async () => {
    const memory = new Memory(await tempDir());
    await mkdir(join(memory.dir, "entries"), { recursive: true });
    await writeFile(
      join(memory.dir, "entries", "fact_x.md"),
      "---\r\nname: The X\r\ndescription: about: x\r\n---\r\nBody\r\n",
    );
    await writeFile(join(memory.dir, "entries", "broken.md"), "no header");
    expect(await memory.list()).toMatchObject([
      { slug: "fact_x", type: "fact", name: "The X", description: "about: x", content: "Body", held: false },
    ]);
  });

  it.each([
    ["an empty name", { ...tea, name: " " }, "name is empty"],
    ["a name of signs", { ...tea, name: "../.." }, "at least one letter or digit"],
    ["two lines of description", { ...tea, description: "a\nb" }, "one line each"],
    ["too much content", { ...tea, content: "x".repeat(20_001) }, "at most 20000"],
  ])("refuse %s", async (_, wrong, message) => {
    await expect(new Memory(await tempDir()).add(wrong)).rejects.toThrow(message);
  });

  it("have slugs that are file names", () => {
    expect(slugOf({ type: "fact", name: "../Über/das  Ding!" })).toBe("fact_u-ber-das-ding");
  });
});

describe("recall", () => {
  const entries = [
    entry({ slug: "deploy", name: "deploying", description: "how servers are deployed", content: "Use the script." }),
    entry({ slug: "tea", name: "tea", description: "drinks", content: "Green." }),
  ];

  it("finds by words, not by parts of words, and not by the commonest ones", () => {
    expect(recall(entries, "the deploy of a server", 1e12, 1_000).map((one) => one.slug)).toEqual(["deploy"]);
    expect(recall(entries, "steamy and the a of", 1e12, 1_000)).toEqual([]);
    expect(search(entries, "green", 10)).toMatchObject([{ entry: { slug: "tea" }, score: 1 }]);
  });

  it("lets a day-old entry through on one word less", () => {
    expect(recall(entries, "green", 1e12, 1_000)).toEqual([]);
    expect(recall(entries, "green", 1_000, 1_000).map((one) => one.slug)).toEqual(["tea"]);
  });

  it("gives five at most, and no more words than allowed", () => {
    const many = Array.from({ length: 9 }, (_, index) =>
      entry({ slug: `s${index}`, name: "tea", description: "tea time" }),
    );
    expect(recall(many, "tea", 1e12, 1_000)).toHaveLength(5);
    expect(recall(many, "tea", 1e12, 12)).toHaveLength(2);
  });
});

describe("whose words an agent repeats", () => {
  it("is a peer's when one asked, whatever the agent says", async () => {
    const influence = new Influence(await tempDir());
    await influence.turnBegins("ses_1", [{ kind: "human" }]);
    expect(await influence.sourceOf("ses_1", undefined)).toBe("agent");
    expect(await influence.sourceOf("ses_1", "user")).toBe("user");
    expect(await influence.sourceOf("ses_1", "peer")).toBe("peer");
    await influence.readFromOutside("ses_1");
    expect(await influence.sourceOf("ses_1", "user")).toBe("tool");
    const peer = { kind: "agent", session: "ses_2", handle: "x" } as never;
    await influence.turnBegins("ses_1", [{ kind: "human" }, peer]);
    expect(await influence.sourceOf("ses_1", "user")).toBe("peer");
    await influence.turnBegins("ses_1", [{ kind: "human" }]);
    expect(await influence.sourceOf("ses_1", "user")).toBe("user");
  });

  it("counts as a peer's when nobody knows who asked", async () => {
    expect(await new Influence(await tempDir()).sourceOf("ses_9", "user")).toBe("peer");
  });
});

describe("transcripts", () => {
  const created = (agent: string) =>
    JSON.stringify({ type: "session.created", data: { session: { agent, handle: "lucid-hertz" } } });
  const says = (text: string) => JSON.stringify({ type: "turn.text", data: { text } });
  const asks = (body: string, sender: object = { kind: "human" }) =>
    JSON.stringify({ type: "message.admitted", data: { message: { body, sender } } });

  async function project(files: Record<string, string[]>): Promise<string> {
    const root = await tempDir();
    const dir = join(root, ".aegis", "state", "sessions");
    await mkdir(dir, { recursive: true });
    for (const [name, lines] of Object.entries(files)) await writeFile(join(dir, name), lines.join("\n"));
    return root;
  }

  it("hold what was said and by whom, and bear a torn last line", async () => {
    const peer = { kind: "agent", handle: "calm-planck" };
    const lines = [created("dev"), asks("hi"), says("hello"), asks("do it", peer), '{"type":"turn.te'];
    const root = await project({ "a.jsonl": lines, "notes.txt": [] });
    expect(await recentFiles(root, 0, 10)).toEqual(["a.jsonl"]);
    expect(await readTranscript(root, "a.jsonl", [])).toEqual({
      file: "a.jsonl",
      handle: "lucid-hertz",
      text: "user: hi\n\nassistant: hello\n\npeer calm-planck: do it",
      cut: 0,
    });
  });

  it("leave out dreaming agents, silent sessions, and the middle of long texts", async () => {
    const root = await project({
      "a.jsonl": [created("memory-system:dreamer"), asks("hi")],
      "b.jsonl": [created("dev")],
      "c.jsonl": [created("dev"), says("x".repeat(30_000))],
    });
    expect(await readTranscript(root, "a.jsonl", ["dreamer"])).toBeNull();
    expect(await readTranscript(root, "b.jsonl", [])).toBeNull();
    const long = await readTranscript(root, "c.jsonl", []);
    expect(long?.cut).toBe(6_011);
    expect(long?.text).toContain("[6011 characters left out]");
  });

  it("are those changed lately, the newest first, so many at most", async () => {
    const root = await project({ "a.jsonl": [says("x")], "b.jsonl": [says("y")] });
    expect(await recentFiles(root, Date.now() + 60_000, 10)).toEqual([]);
    expect(await recentFiles(root, 0, 1)).toHaveLength(1);
    expect(await recentFiles(join(root, "nowhere"), 0, 1)).toEqual([]);
  });
});

describe("what dreamers say", () => {
  it("counts only with proposals in it, and one that cannot be read spoils no other", () => {
    expect(parseProposals("I cannot do that.")).toBeNull();
    expect(parseProposals('It failed: {"success": false, "error": "no tools"}')).toBeNull();
    const said = { proposed_entries: [{ ...tea, type: "secret" }, tea, "?"], summary: 7 };
    expect(parseProposals(`Here: ${JSON.stringify(said)}`)).toMatchObject({ proposed_entries: [tea], summary: "" });
  });

  it("is set apart when the words are a tool's or a peer's", () => {
    const rumour = { ...tea, name: "rumour", source: "tool" as const };
    const said = (entries: object[]) => parseProposals(JSON.stringify({ proposed_entries: entries })) ?? expect.fail();
    const all = [said([tea, rumour]), said([rumour, { ...rumour, name: "!" }])];
    expect(fromOthers(all).map(aboutOf)).toEqual(["user_rumour"]);
    expect(withoutOthers(all).map((one) => one.proposed_entries)).toMatchObject([[tea], []]);
  });
});
