/** Agent files on a real disk: what is there, what is broken, and what is written. */
import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { createAgent, editAgent, findAgent, validateAgentFile } from "../../src/agents/edit.ts";
import { AgentFiles, maxFilesPerFolder } from "../../src/agents/files.ts";
import { agentPlaces } from "../../src/agents/places.ts";

const agentText = (name: string, more = "") => `---\nname: ${name}\ndescription: d\n${more}---\n${name}.\n`;

async function project(files: Record<string, string> = {}) {
  const folder = await tempDir();
  const [root, home] = [join(folder, "project"), join(folder, "home")];
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await mkdir(root);
  await mkdir(home);
  for (const [path, text] of Object.entries(files)) await write(path, text);
  const own = agentPlaces(root, home).filter((place) => place.source !== "builtin");
  return { folder, root, home, write, places: own, files: new AgentFiles(), harnesses: ["native", "scripted"] };
}

describe("reading", () => {
  it("takes every folder, and only Markdown files", async () => {
    const { files, places } = await project({
      "project/.aegis/agents/a.md": agentText("a"),
      "project/.aegis/agents/b.yaml": "harness: native\n",
      "project/.aegis/agents/.hidden.md": agentText("hidden"),
      "project/.aegis/agents/c.md.tmp": agentText("c"),
      "project/.claude/agents/b.md": agentText("b"),
      "home/.aegis/agents/a.md": agentText("a"),
    });
    const { profiles, diagnostics } = await files.load(places);
    expect(profiles.map(({ slug, source }) => `${source} ${slug}`)).toEqual(["project a", "claude b", "user a"]);
    expect(diagnostics).toEqual([]);
  });

  it("ships agents that need no configuration", async () => {
    const { files, root, home } = await project();
    const { profiles, diagnostics } = await files.load(agentPlaces(root, home));
    expect(diagnostics).toEqual([]);
    const names = ["default", "explorer", "planner", "implementer", "reviewer"];
    const more = ["security-reviewer", "api-reviewer", "test-reviewer", "spec_writer"];
    expect(profiles.map((profile) => profile.slug).sort()).toEqual([...names, ...more].sort());
    expect(profiles.every((profile) => profile.harness === null && profile.model === null)).toBe(true);
    expect(profiles.find((profile) => profile.slug === "explorer")?.permission).toBe("read");
  });

  it("passes over what cannot be used and says why", async () => {
    const { files, places, folder, write } = await project({
      "project/.aegis/agents/good.md": agentText("good"),
      "project/.aegis/agents/broken.md": "---\nname: broken\n",
      "project/.aegis/agents/bytes.md": "",
      "home/.aegis/agents/good.md": agentText("good"),
    });
    const at = join(folder, "project/.aegis/agents");
    await writeFile(join(at, "bytes.md"), Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]));
    await mkdir(join(at, "folder.md"));
    await symlink(join(at, "nowhere"), join(at, "dangling.md"));
    await symlink(at, join(at, "loop.md"));
    execFileSync("mkfifo", [join(at, "pipe.md")]);
    await write("project/.aegis/agents/huge.md", agentText("huge") + "x".repeat(2 * 1024 * 1024));
    const { profiles, diagnostics } = await files.load(places);
    expect(profiles.map((profile) => profile.slug)).toEqual(["good", "good"]);
    const named = diagnostics.map(({ file }) => file?.slice(at.length + 1)).sort();
    expect(named).toEqual(["broken.md", "bytes.md", "dangling.md", "huge.md", "loop.md", "pipe.md"]);
  });

  it("follows links inside a project, and out of the user's own folder, but never out of a project", async () => {
    const { files, places, folder } = await project({
      "elsewhere/secret.md": agentText("secret"),
      "project/docs/shared.md": agentText("shared"),
      "project/.aegis/agents/own.md": agentText("own"),
      "home/.aegis/agents/mine.md": agentText("mine"),
    });
    const secret = join(folder, "elsewhere/secret.md");
    await symlink(join(folder, "project/docs/shared.md"), join(folder, "project/.aegis/agents/shared.md"));
    await symlink(secret, join(folder, "project/.aegis/agents/secret.md"));
    await symlink(secret, join(folder, "home/.aegis/agents/linked.md"));
    await mkdir(join(folder, "project/.claude"));
    await symlink(join(folder, "elsewhere"), join(folder, "project/.claude/agents"));
    const { profiles, diagnostics } = await files.load(places);
    expect(profiles.map(({ slug, source }) => `${source} ${slug}`)).toEqual([
      "project own",
      "project shared",
      "user secret",
      "user mine",
    ]);
    expect(diagnostics.map(({ file, message }) => `${file?.slice(folder.length)}: ${message}`)).toEqual([
      "/project/.aegis/agents/secret.md: is a link out of the project; it is not read",
      "/project/.claude/agents: is a link out of the project; it is not read",
    ]);
  });

  it.skipIf(process.getuid?.() === 0)("says which file it may not read", async () => {
    const { files, places, folder } = await project({ "project/.aegis/agents/a.md": agentText("a") });
    await chmod(join(folder, "project/.aegis/agents/a.md"), 0);
    expect((await files.load(places)).diagnostics).toMatchObject([{ message: expect.stringContaining("EACCES") }]);
  });

  it("a malformed file leaves the name to the next one", async () => {
    const { files, places, write } = await project({
      "project/.aegis/agents/a.md": agentText("a"),
      "home/.aegis/agents/a.md": agentText("a", "model: user\n"),
    });
    await files.load(places);
    await write("project/.aegis/agents/a.md", agentText("a", "tools: 5\n"));
    const { profiles, diagnostics } = await files.load(places);
    expect(profiles).toMatchObject([{ slug: "a", source: "user", model: "user" }]);
    expect(diagnostics).toMatchObject([{ level: "error", agent: "a", line: 4 }]);
  });

  it("sees every change, also one that leaves size and time as they were", async () => {
    const { files, places, folder } = await project({ "project/.aegis/agents/a.md": agentText("aa") });
    const path = join(folder, "project/.aegis/agents/a.md");
    const names = async () => (await files.load(places)).profiles.map((profile) => profile.slug);
    expect(await names()).toEqual(["aa"]);
    await writeFile(join(folder, "new"), agentText("bb"));
    await rename(join(folder, "new"), path);
    expect(await names()).toEqual(["bb"]);
    await rm(path);
    expect(await names()).toEqual([]);
  });

  it("ends soon in a folder of ten thousand", async () => {
    const { files, places, folder } = await project();
    const at = join(folder, "home/.aegis/agents");
    await mkdir(at, { recursive: true });
    for (let index = 0; index < 10_000; index += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_, n) => writeFile(join(at, `a${index + n}.md`), agentText(`a${index + n}`))),
      );
    const { profiles, diagnostics } = await files.load(places);
    expect(profiles).toHaveLength(maxFilesPerFolder);
    expect(diagnostics).toMatchObject([{ level: "error", message: expect.stringContaining("found 10000") }]);
  });
});

describe("writing", () => {
  const now = new Date("2024-01-01T00:00:00Z");
  const created = { user: false, prompt: "Do.", from: null, now };

  it("makes a file that is read back, for the project or the user", async () => {
    const place = await project();
    const { file } = await createAgent(place, {
      ...created,
      name: "a",
      fields: { description: "d: x", temperature: 0 },
    });
    expect(file).toBe(join(place.root, ".aegis/agents/a.md"));
    expect(await findAgent(place, "a")).toMatchObject({ description: "d: x", temperature: 0, prompt: "Do." });
    const mine = { ...created, name: "b", user: true, fields: { description: "d" } };
    expect((await createAgent(place, mine)).file).toBe(join(place.home, ".aegis/agents/b.md"));
    await expect(createAgent(place, mine)).rejects.toMatchObject({ code: "conflict" });
  });

  it("says when a stronger agent of the name keeps a file from having an effect", async () => {
    const place = await project({ "project/.aegis.yaml": "agents: { a: { harness: scripted } }\n" });
    const make = (name: string, user: boolean) =>
      createAgent(place, { ...created, name, user, fields: { description: "d" } });
    expect((await make("a", false)).diagnostics).toMatchObject([
      { level: "warning", message: expect.stringContaining("the project's configuration") },
    ]);
    expect((await make("b", false)).diagnostics).toEqual([]);
    expect((await make("b", true)).diagnostics).toMatchObject([
      { level: "warning", message: expect.stringContaining("project/.aegis/agents/b.md") },
    ]);
  });

  it("copies another agent", async () => {
    const place = await project();
    const from = await findAgent(place, "explorer");
    await createAgent(place, { ...created, name: "mine", prompt: from.prompt, from, fields: { model: "m" } });
    expect(await findAgent(place, "mine")).toMatchObject({
      description: from.description,
      permission: "read",
      model: "m",
      prompt: from.prompt,
    });
  });

  it("changes fields, keeps the rest, and keeps the file's rights", async () => {
    const place = await project({ "project/.aegis/agents/odd.md": agentText("a", "# why\ncreated_at: 2020\n") });
    const path = join(place.root, ".aegis/agents/odd.md");
    await chmod(path, 0o600);
    await editAgent(place, { name: "a", changes: { model: "m" }, prompt: undefined, now });
    expect(await readFile(path, "utf8")).toBe(
      "---\nname: a\ndescription: d\n# why\ncreated_at: 2020\nmodel: m\nupdated_at: 2024-01-01T00:00:00.000Z\n---\na.\n",
    );
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("loses no change when many write at once", async () => {
    const place = await project({ "project/.aegis/agents/a.md": agentText("a") });
    const fields = ["model", "harness", "permission", "reasoning_effort"] as const;
    const values = { model: "m", harness: "native", permission: "read", reasoning_effort: "low" };
    await Promise.all(
      fields.map((key) => editAgent(place, { name: "a", changes: { [key]: values[key] }, prompt: undefined, now })),
    );
    const { model, harness, permission, effort } = await findAgent(place, "a");
    expect({ model, harness, permission, effort }).toEqual({
      model: "m",
      harness: "native",
      permission: "read",
      effort: "low",
    });
  });

  it("refuses what would be wrong and writes nothing", async () => {
    const place = await project({
      "project/.aegis/agents/a.md": agentText("a"),
      "project/.claude/agents/c.md": agentText("c"),
    });
    const edit = (name: string, changes: object) => editAgent(place, { name, changes, prompt: undefined, now });
    await expect(edit("a", { temperature: 9 })).rejects.toThrow("temperature");
    await expect(edit("a", { harness: "natve" })).rejects.toThrow('did you mean "native"?');
    await expect(edit("a", { description: null })).rejects.toThrow("description");
    await expect(edit("c", { model: "m" })).rejects.toThrow("not yours to change");
    await expect(edit("explorer", { model: "m" })).rejects.toThrow("not yours to change");
    await expect(edit("aa", { model: "m" })).rejects.toThrow('did you mean "a"?');
    expect(await readFile(join(place.root, ".aegis/agents/a.md"), "utf8")).toBe(agentText("a"));
    for (const name of ["../x", "a/b", "a:b", "", "A b", "x".repeat(65)])
      await expect(createAgent(place, { ...created, name, fields: { description: "d" } })).rejects.toThrow(
        "is not a valid agent name",
      );
  });

  it("does not follow a link out of the project", async () => {
    const place = await project();
    await mkdir(join(place.root, ".aegis"));
    await symlink(place.folder, join(place.root, ".aegis/agents"));
    const made = createAgent(place, { ...created, name: "a", fields: { description: "d" } });
    await expect(made).rejects.toMatchObject({ code: "forbidden" });
  });

  it("checks a file wherever it is", async () => {
    const place = await project({ "elsewhere.md": agentText("a", "harness: nativ\n") });
    const [found] = await validateAgentFile(place, join(place.folder, "elsewhere.md"));
    expect(found?.message).toContain('did you mean "native"?');
    expect(await validateAgentFile(place, join(place.folder, "gone.md"))).toMatchObject([{ level: "error" }]);
  });
});
