import { appendFile, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { setValue } from "../../src/config/changes.ts";
import { watchConfig } from "../../src/config/watch.ts";
import { createProject } from "./project.ts";

function watchFor(root: string, quietMs = 20) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  let calls = 0;
  const watching = watchConfig({ root, signal: stop.signal, quietMs, onChange: () => calls++ });
  return {
    ...watching,
    follow: (files: readonly string[]) => watching.follow(files),
    stop: () => stop.abort(),
    calls: () => calls,
    /** Acts and waits until the change was told. */
    async after(what: string, act: () => Promise<unknown>) {
      const before = calls;
      await act();
      await waitUntil(`a call after ${what}`, () => calls > before, 5000);
    },
  };
}

describe("watchConfig", () => {
  it("tells of edits in place, of replacements, again and again", async () => {
    const project = await createProject({ ".aegis.yaml": "pool: {max: 1}\n" });
    const path = join(project.root, ".aegis.yaml");
    const watched = watchFor(project.root);
    await watched.after("an edit in place", () => appendFile(path, "# more\n"));
    for (const max of [2, 3]) {
      await watched.after("a replacement", async () => {
        await writeFile(`${path}.new`, `pool: {max: ${max}}\n`);
        await rename(`${path}.new`, path);
      });
    }
    await watched.after("an edit of ours", () => setValue(project, ["pool", "max"], 4));
    await watched.after("the removal of the file", () => rm(path));
    await watched.after("its return", () => writeFile(path, "pool: {max: 5}\n"));
    await watched.after("a local file", () => writeFile(join(project.root, ".aegis.local.yaml"), "pool: {max: 6}\n"));
  });

  it("sees the first overlay of a project without any", async () => {
    const project = await createProject({});
    const watched = watchFor(project.root);
    await watched.after("the first overlay", () => project.write(".aegis/agents/dev.yaml", "harness: codex\n"));
    await watched.after("a change of it", () => project.write(".aegis/agents/dev.yaml", "harness: native\n"));
    await watched.after("an overlay of another kind", () => project.write(".aegis/queues/q.yaml", "agent: dev\n"));
    await watched.after("its change", () => project.write(".aegis/queues/q.yaml", "agent: dev # x\n"));
    await watched.after("the removal of all", () => rm(join(project.root, ".aegis"), { recursive: true }));
    await watched.after("their return", () => project.write(".aegis/agents/dev.yaml", "harness: codex\n"));
    await watched.after("a change of that", () => project.write(".aegis/agents/dev.yaml", "harness: native\n"));
  });

  it("tells once of a burst, and never of other files", async () => {
    const project = await createProject({ ".aegis/state/x": "" });
    const watched = watchFor(project.root, 60);
    await mkdir(join(project.root, "src"));
    await project.write("src/.aegis.yaml", "");
    await project.write("README.md", "");
    await project.write(".aegis/state/aegis.db", "");
    await watched.after("a burst", async () => {
      for (let index = 0; index < 20; index++) await project.write(".aegis.yaml", `# ${index}\n`);
    });
    expect(watched.calls()).toBe(1);
  });

  it("follows other files, such as prompts", async () => {
    const project = await createProject({ "prompts/dev.md": "a" });
    const watched = watchFor(project.root);
    watched.follow([join(project.root, "prompts/dev.md")]);
    await watched.after("a change of the prompt", () => project.write("prompts/dev.md", "b"));
  });

  it("is silent once it is stopped", async () => {
    const project = await createProject({});
    const watched = watchFor(project.root);
    const other = watchFor(project.root);
    watched.stop();
    await other.after("a change", () => project.write(".aegis.yaml", "# x\n"));
    expect(watched.calls()).toBe(0);
  });

  it("refuses a folder that is not there", () => {
    expect(() =>
      watchConfig({ root: "/nowhere/at/all", signal: new AbortController().signal, onChange: () => {} }),
    ).toThrow("ENOENT");
  });
});
