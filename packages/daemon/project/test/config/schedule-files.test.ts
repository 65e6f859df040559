import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { declaredSchedules } from "@aegis/daemon/build-schedules.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { scheduleFiles } from "../../src/config/schedule-files.ts";

const main = `agents: { dev: { harness: scripted } }
schedules:
  # every night
  nightly: # the one
    agent: dev
    prompt: dream
    cron: "0 3 * * *" # at three
`;
const entry = { agent: "dev", prompt: "go", cron: "*/5 * * * *" };
const harnesses = ["scripted"];

async function project(files: Record<string, string> = { ".aegis.yaml": main }) {
  const root = await tempDir();
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const load = async () => {
    const { config, files: read, problems } = await loadConfig({ cwd: root, harnesses });
    if (config === null) throw new Error(JSON.stringify(problems));
    return declaredSchedules(root, { config, files: read });
  };
  return { root, load, files: scheduleFiles({ root, harnesses }) };
}

describe("a schedule of its own", () => {
  it("is written whole, says who added it, and replaces an earlier one", async () => {
    const at = await project();
    const { file } = await at.files.writeAtomic("dream", entry, { by: "plugin memory-system" });
    expect(file).toBe(".aegis/schedules/dream.yaml");
    expect(await readFile(join(at.root, file), "utf8")).toBe(
      '# added by plugin memory-system\n\nagent: dev\nprompt: go\ncron: "*/5 * * * *"\n',
    );
    expect((await at.files.writeAtomic("dream", { ...entry, prompt: "again" })).changed).toBe(true);
    expect((await at.load()).dream?.settings.action).toEqual({ kind: "agent", agent: "dev", prompt: "again" });
    await expect(at.files.writeAtomic("dream", entry, { fresh: true })).rejects.toMatchObject({ code: "conflict" });
    expect(await readdir(join(at.root, ".aegis/schedules"))).toEqual(["dream.yaml"]);
  });

  it.each([
    ["a name that is taken", "nightly", entry, /declared once/],
    ["an agent that is not there", "x", { ...entry, agent: "dve" }, /did you mean "dev"/],
    ["a bad rhythm", "x", { ...entry, cron: "61 * * * *" }, /schedules\.x\.cron: expected five cron fields.*61/],
    ["two times", "x", { ...entry, fire_at: "2030-01-01T00:00:00Z" }, /only one of cron or fire_at/],
    ["a name that is none", "../x", entry, /is not a config file/],
    ["a name with an upper-case letter", "Ex", entry, /lower-case/],
  ])("is refused without a trace for %s", async (_, name, bad, words) => {
    const at = await project();
    await expect(at.files.writeAtomic(name, bad)).rejects.toMatchObject({ code: "invalid", message: words });
    expect(await readdir(join(at.root, ".aegis", "schedules")).catch(() => [])).toEqual([]);
    expect(await readFile(join(at.root, ".aegis.yaml"), "utf8")).toBe(main);
  });

  it("is not written through a link that leads out of the project", async () => {
    const at = await project();
    await mkdir(join(at.root, ".aegis"));
    await symlink(await tempDir(), join(at.root, ".aegis", "schedules"));
    await expect(at.files.writeAtomic("x", entry)).rejects.toMatchObject({ message: /outside|out of/ });
  });

  it("is removed from the file that declares it, comments of others stay", async () => {
    const at = await project();
    await at.files.writeAtomic("dream", entry);
    expect((await at.files.remove("dream")).file).toBe(".aegis/schedules/dream.yaml");
    expect((await at.files.remove("nightly")).file).toBe(".aegis.yaml");
    expect(await at.load()).toEqual({});
    await expect(at.files.remove("nightly")).rejects.toMatchObject({ code: "not_found" });
  });

  it("is switched in the file that decides", async () => {
    const at = await project();
    expect((await at.files.setEnabled("nightly", false)).file).toBe(".aegis.yaml");
    expect(await readFile(join(at.root, ".aegis.yaml"), "utf8")).toBe(`${main}    enabled: false\n`);
    await writeFile(join(at.root, ".aegis.local.yaml"), "schedules: { nightly: { enabled: false } }\n");
    expect((await at.files.setEnabled("nightly", true)).file).toBe(".aegis.local.yaml");
    expect((await at.load()).nightly?.settings.enabled).toBe(true);
  });

  it("is written by several at once, none of them lost", async () => {
    const at = await project();
    const names = ["a", "b", "c", "d", "e"];
    await Promise.all(names.map((name) => at.files.writeAtomic(name, entry)));
    expect(Object.keys(await at.load()).sort()).toEqual([...names, "nightly"].sort());
  });
});

it("times without an offset are those of the schedule's zone", async () => {
  const at = await project();
  await at.files.writeAtomic("x", {
    agent: "dev",
    prompt: "go",
    fire_at: "2030-07-01T09:00:00",
    timezone: "Europe/Berlin",
    lifecycle: { until: "2030-07-02T00:00:00" },
  });
  expect((await at.load()).x).toMatchObject({
    file: ".aegis/schedules/x.yaml",
    settings: { fire_at: Date.UTC(2030, 6, 1, 7), lifecycle: { until: Date.UTC(2030, 6, 1, 22) } },
  });
});
