import { chmod, mkdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { isSeq } from "yaml";
import {
  addEntry,
  addPluginDir,
  isOverriddenLocally,
  removeEntry,
  removePluginDir,
  setValue,
} from "../../src/config/changes.ts";
import { editConfig } from "../../src/config/edit.ts";
import { removePath, setPath } from "../../src/config/paths.ts";
import { problemsOf } from "../../src/config/problem.ts";
import { createProject } from "./project.ts";

const text = `# top comment

# about agents
agents:   # the team
  # first
  dev:
    harness:   codex # the quick one
    model: "x"
    # trailing in dev
  # trailing in agents

# before queues
queues:
  a: {agent: dev} # queue a
  # end of queues
plugin_dirs:
- one # 1
# between
- two   # 2
# end of file
`;

describe("editing", () => {
  it.each([
    ["a scalar", ["agents", "dev", "harness"], "claude-code", "    harness:   codex #", "    harness:   claude-code #"],
    ["a quoted scalar", ["agents", "dev", "model"], "y", 'model: "x"', 'model: "y"'],
    ["a key of a flow map", ["queues", "a", "max_parallel"], 3, "{agent: dev} #", "{agent: dev, max_parallel: 3} #"],
    [
      "a new key",
      ["agents", "dev", "effort"],
      "high",
      "    # trailing in dev\n",
      "    # trailing in dev\n    effort: high\n",
    ],
    ["a new section", ["server"], { port: 1 }, "# end of file\n", "# end of file\n\nserver:\n  port: 1\n"],
    [
      "a new entry",
      ["agents", "rev"],
      { harness: "codex", env: { A: "b" } },
      "  # trailing in agents\n",
      "  # trailing in agents\n  rev:\n    harness: codex\n    env:\n      A: b\n",
    ],
  ])("changes %s and no other byte", async (_, path, value, before, after) => {
    const project = await createProject({ ".aegis.yaml": text });
    expect(text).toContain(before);
    await setValue(project, path, value);
    expect(await project.read()).toBe(text.replace(before, after));
  });

  it("leaves commented-out entries with the section they belong to", async () => {
    const commented =
      "default_agent: dev\n\nagents:\n  dev:\n    harness: codex\n    # effort: high\n\n  # rev:\n  #   harness: codex\n\n# later\n";
    const project = await createProject({ ".aegis.yaml": commented });
    await setValue(project, ["pool", "max"], 3);
    expect(await project.read()).toBe(commented.replace("\n\n# later", "\n\npool:\n  max: 3\n\n# later"));
  });

  it("removes an entry with its own lines only", async () => {
    const project = await createProject({ ".aegis.yaml": text });
    await removeEntry(project, "queues", "a");
    expect(await project.read()).toBe(text.replace("queues:\n  a: {agent: dev} # queue a\n", "queues: {}\n"));
  });

  it("names the local file for an entry that only it declares", async () => {
    const project = await createProject({ ".aegis.local.yaml": "agents: {mine: {harness: codex}}\n" });
    await expect(removeEntry(project, "agents", "mine")).rejects.toThrow("is declared in .aegis.local.yaml");
  });

  it("writes a key that had no value, and makes the maps on the way", async () => {
    const project = await createProject({ ".aegis.yaml": "agents: # none yet\nserver:\n" });
    await setValue(project, ["agents", "dev", "harness"], "codex");
    await setValue(project, ["server", "port"], 80);
    const edited = await project.read();
    expect(edited).toContain("# none yet");
    expect(edited).toMatch(/server:\n {2}port: 80\n/);
  });

  it("starts a file that is not there, or holds only comments", async () => {
    const empty = await createProject({});
    await addEntry(empty, "agents", "dev", { harness: "codex" });
    expect(await empty.read()).toBe("agents:\n  dev:\n    harness: codex\n");
    const comments = await createProject({ ".aegis.yaml": "# mine\n\n# and mine\n" });
    await addEntry(comments, "agents", "dev", { harness: "codex" });
    expect(await comments.read()).toBe("# mine\n\n# and mine\n\nagents:\n  dev:\n    harness: codex\n");
  });

  it("keeps the comments of a list it changes", async () => {
    const project = await createProject({ ".aegis.yaml": text });
    await addPluginDir(project, "three");
    expect(await project.read()).toBe(text.replace("- two   # 2\n", "- two # 2\n- three\n"));
    await removePluginDir(project, "one");
    expect(await project.read()).toContain("# between\n- two # 2\n- three\n# end of file\n");
  });

  it("adds a plugin folder beside the default one, once", async () => {
    const project = await createProject({ ".aegis.yaml": "# nothing\n" });
    await addPluginDir(project, "mine");
    expect((await addPluginDir(project, "mine")).changed).toBe(false);
    expect((await addPluginDir(project, "mine")).loaded.config?.plugin_dirs).toEqual([".aegis/plugins", "mine"]);
    await expect(removePluginDir(project, "mnie")).rejects.toThrow('did you mean "mine"?');
  });

  it("keeps line ends, the byte order mark, a missing last line end and the mode", async () => {
    const windows = `\uFEFF${text.replaceAll("\n", "\r\n").trimEnd()}`;
    const project = await createProject({ ".aegis.yaml": windows });
    await chmod(join(project.root, ".aegis.yaml"), 0o660);
    await setValue(project, ["agents", "dev", "model"], "y");
    expect(await project.read()).toBe(windows.replace('"x"', '"y"'));
    await setValue(project, ["pool", "max"], 3);
    expect(await project.read()).toBe(`${windows.replace('"x"', '"y"')}\r\n\r\npool:\r\n  max: 3\r\n`);
    expect((await stat(join(project.root, ".aegis.yaml"))).mode % 0o1000).toBe(0o660);
  });

  it("changes nothing at all when the configuration would be wrong", async () => {
    const project = await createProject({ ".aegis.yaml": text, ".aegis/queues/b.yaml": "agent: dev\n" });
    const failed = await removeEntry(project, "agents", "dev").catch((error: unknown) => error);
    if (!(failed instanceof AegisError)) throw new Error("expected the edit to be refused");
    expect(failed.code).toBe("invalid");
    expect(problemsOf(failed).map(({ file, key }) => `${file} ${key}`)).toEqual([
      ".aegis.yaml queues.a.agent",
      ".aegis/queues/b.yaml queues.b.agent",
    ]);
    await expect(setValue(project, ["agents", "dev", "modle"], "x")).rejects.toThrow('did you mean "model"?');
    await expect(setValue(project, ["agents", "dev", "model", "deep"], 1)).rejects.toThrow(
      'expected a map at agents.dev.model, found "x"',
    );
    expect(await project.read()).toBe(text);
  });

  it("refuses to touch a file that is already broken, and fixes one that the edit mends", async () => {
    const broken = await createProject({ ".aegis.yaml": "agents: {dev: {harness: codex}\n" });
    await expect(setValue(broken, ["server", "port"], 1)).rejects.toThrow("not valid YAML");
    const wrong = await createProject({ ".aegis.yaml": "server: {port: -1} # c\n" });
    await setValue(wrong, ["server", "port"], 1);
    expect(await wrong.read()).toBe("server: {port: 1} # c\n");
  });

  it("edits the overlay that declares an entry, and removes it whole", async () => {
    const project = await createProject({
      ".aegis/agents/dev.yaml": "# mine\nharness: codex\n",
      ".aegis.yaml": "# main\n",
    });
    expect((await setValue(project, ["agents", "dev", "model"], "m")).file).toBe(join(".aegis", "agents", "dev.yaml"));
    expect(await project.read(".aegis/agents/dev.yaml")).toBe("# mine\nharness: codex\nmodel: m\n");
    await expect(addEntry(project, "agents", "dev", { harness: "codex" })).rejects.toMatchObject({ code: "conflict" });
    await removeEntry(project, "agents", "dev");
    await expect(project.read(".aegis/agents/dev.yaml")).rejects.toThrow("ENOENT");
    expect(await project.read()).toBe("# main\n");
  });

  it("writes what is for this machine into the local file", async () => {
    const project = await createProject({ ".aegis.yaml": "agents: {dev: {harness: codex}}\n" });
    await setValue(project, ["agents", "dev", "model"], "here", { local: true });
    expect(await project.read(".aegis.local.yaml")).toBe("agents:\n  dev:\n    model: here\n");
    expect(await isOverriddenLocally(project.root, ["agents", "dev", "model"])).toBe(true);
    expect(await isOverriddenLocally(project.root, ["agents", "dev", "effort"])).toBe(false);
  });

  it("refuses what stands behind an alias, and overrides what a merge key brings", async () => {
    const shared = "agents:\n  dev: &dev {harness: codex}\n  twin: *dev\n  rev:\n    <<: *dev\n";
    const project = await createProject({ ".aegis.yaml": shared });
    await expect(setValue(project, ["agents", "twin", "model"], "m")).rejects.toThrow("agents.twin is the alias *dev");
    await setValue(project, ["agents", "rev", "harness"], "native");
    expect(await project.read()).toBe(`${shared}    harness: native\n`);
    await expect(removeEntry(project, "agents", "dev")).rejects.toThrow("&dev");
    expect(await project.read()).toBe(`${shared}    harness: native\n`);
  });

  it("writes through a link inside the project and refuses one that leads out", async () => {
    const project = await createProject({ "real.yaml": "# real\n" });
    await symlink("real.yaml", join(project.root, ".aegis.yaml"));
    await setValue(project, ["pool", "max"], 2);
    expect(await readlink(join(project.root, ".aegis.yaml"))).toBe("real.yaml");
    expect(await project.read("real.yaml")).toContain("max: 2");

    const outside = join(await tempDir(), "other.yaml");
    await writeFile(outside, "# theirs\n");
    const linked = await createProject({});
    await symlink(outside, join(linked.root, ".aegis.yaml"));
    await expect(setValue(linked, ["pool", "max"], 2)).rejects.toMatchObject({ code: "forbidden" });
    expect(await readFile(outside, "utf8")).toBe("# theirs\n");
    await mkdir(join(linked.root, ".aegis"));
    await symlink(await tempDir(), join(linked.root, ".aegis/agents"));
    const file = join(".aegis", "agents", "x.yaml");
    await expect(
      editConfig({ ...linked, file, change: (d) => setPath(d, ["harness"], "codex") }),
    ).rejects.toMatchObject({
      code: "forbidden",
    });
  });

  it("edits config files only", async () => {
    const project = await createProject({});
    for (const file of ["package.json", "../x.yaml", ".aegis/state/x.yaml", ".aegis/agents/../../x.yaml"])
      await expect(editConfig({ ...project, file, change: () => {} })).rejects.toThrow("is not a config file");
  });

  it("passes on what the change throws, and writes changes made by hand", async () => {
    const project = await createProject({ ".aegis.yaml": text });
    const change = () => {
      throw new Error("no");
    };
    await expect(editConfig({ ...project, change })).rejects.toThrow("no");
    await editConfig({
      ...project,
      change: (document) => {
        const list = document.get("plugin_dirs");
        if (isSeq(list)) list.add("three");
        removePath(document, ["queues"]);
        document.commentBefore = " new top";
      },
    });
    const edited = await project.read();
    expect(edited).toContain("- three\n");
    expect(edited).not.toContain("queue a");
    expect(edited).toContain("# before queues");
  });
});
