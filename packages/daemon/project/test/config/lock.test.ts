import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stateDir } from "@aegis/lib/daemon-file.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { addEntry } from "../../src/config/changes.ts";
import { loadConfig } from "../../src/config/load.ts";
import { withLock } from "../../src/config/lock.ts";
import { createProject, harnesses } from "./project.ts";
import { exitCode, holding, startWriter } from "./writers.ts";

describe("the lock of the configuration", () => {
  it("lets every edit of several processes land", { tags: "slow" }, async () => {
    const project = await createProject({ ".aegis.yaml": "# kept\nagents: {}\n" });
    const writers = ["a", "b", "c"].map((prefix) => startWriter("add", project.root, prefix, "8"));
    expect(await Promise.all(writers.map(exitCode))).toEqual([0, 0, 0]);
    const { config, problems } = await loadConfig({ cwd: project.root, harnesses });
    expect(problems).toEqual([]);
    expect(Object.keys(config?.agents ?? {})).toHaveLength(24);
    expect(await project.read()).toMatch(/^# kept\n/);
  });

  it("lets every edit of one process land", async () => {
    const project = await createProject({});
    await Promise.all(
      Array.from({ length: 12 }, (_, index) => addEntry(project, "agents", `a${index}`, { harness: "codex" })),
    );
    const { config } = await loadConfig({ cwd: project.root, harnesses });
    expect(Object.keys(config?.agents ?? {})).toHaveLength(12);
  });

  it("waits for the holder and gives up at the deadline, naming it", async () => {
    const project = await createProject({});
    const holder = startWriter("hold", project.root);
    await holding(holder);
    const waited = withLock(stateDir(project.root), async () => "mine", { waitMs: 60 });
    await expect(waited).rejects.toMatchObject({
      code: "conflict",
      message: `another process (pid ${holder.pid}) is editing the configuration`,
    });
    const patient = withLock(stateDir(project.root), async () => "mine", { waitMs: 10_000 });
    holder.stdin?.write("go\n");
    expect(await patient).toBe("mine");
    expect(await exitCode(holder)).toBe(0);
  });

  it("takes over from a holder that was killed", async () => {
    const project = await createProject({});
    const holder = startWriter("hold", project.root);
    await holding(holder);
    holder.kill("SIGKILL");
    await exitCode(holder);
    await addEntry(project, "agents", "dev", { harness: "codex" });
    expect(await project.read()).toContain("dev:");
  });

  it("takes over when the holder's pid belongs to another process by now", async () => {
    const folder = await tempDir();
    await writeFile(join(folder, "config.7.lock"), JSON.stringify({ pid: process.pid, start_time: "long ago" }));
    expect(await withLock(folder, async () => "mine", { waitMs: 0 })).toBe("mine");
  });

  it("takes over from a file that is no lock of ours", async () => {
    const folder = await tempDir();
    await writeFile(join(folder, "config.3.lock"), "{");
    expect(await withLock(folder, async () => "mine", { waitMs: 0 })).toBe("mine");
  });

  it("is free again when the work fails, and leaves one small file behind", async () => {
    const folder = join(await tempDir(), "state");
    await mkdir(folder);
    for (let round = 0; round < 3; round++)
      await expect(withLock(folder, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await withLock(folder, async () => "mine", { waitMs: 0 })).toBe("mine");
    expect(await readdir(folder)).toHaveLength(1);
  });

  it("stops waiting when it is told to", async () => {
    const project = await createProject({});
    const holder = startWriter("hold", project.root);
    await holding(holder);
    const stop = new AbortController();
    const waited = withLock(stateDir(project.root), async () => "mine", { signal: stop.signal });
    stop.abort(new Error("enough"));
    await expect(waited).rejects.toThrow("enough");
  });
});
