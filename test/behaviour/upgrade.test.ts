// @module-tag slow
/**
 * A project that version 0.1.0 made and that was killed in the middle of its work opens and continues. The fixture holds
 * its files, its database and its user's trust.json, as version 0.1.0 left them.
 */
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const fixture = fileURLToPath(new URL("../fixtures/project-0.1", import.meta.url));
/** A skill that version 0.1.0 installed. */
const installedSkills = fileURLToPath(new URL("../fixtures/skills-0.1", import.meta.url));

async function oldProject(): Promise<AegisProject> {
  const project = await aegisProject({}, { trusted: false });
  const { root, env } = project;
  await cp(fixture, root, { recursive: true });
  await mkdir(join(root, ".aegis/state"), { mode: 0o700 });
  await writeFile(join(root, ".aegis/state/aegis.db"), gunzipSync(await readFile(join(root, "aegis.db.gz"))), {
    mode: 0o600,
  });
  const trust = await readFile(join(root, "trust.json"), "utf8");
  await mkdir(join(env.HOME ?? "", ".aegis"), { mode: 0o700 });
  await writeFile(join(env.HOME ?? "", ".aegis/trust.json"), trust.replace("/home/ada/project", root), { mode: 0o600 });
  for (const file of ["aegis.db.gz", "trust.json"]) await rm(join(root, file));
  return project;
}

/** The sessions of the fixture, which version 0.1.0 gave handles that the generator can make again. */
const remembering = "ses_01m7k06px7apeqzc6x4w4caxf0";
const interrupted = "ses_01m7k06vm0eaadxnrggcb0yn50";

type Task = { payload: string; status: string };

it("a project of version 0.1.0 continues once its user has adopted its state", async () => {
  const project = await oldProject();
  const { aegis, json, root } = project;
  expect(await aegis("up")).toMatchObject({ code: 3, stderr: expect.stringContaining("an older Aegis created it") });
  expect((await aegis("state", "adopt", "--yes")).code).toBe(0);
  expect((await aegis("up")).code).toBe(0);

  // The user agreed to the agent and to the plugin before; neither is asked about again.
  const { stdout: plugins } = await aegis("plugin", "list");
  expect(plugins).toMatch(/keeper\s+1\.0\.0\s+loaded/);
  expect((await aegis("history", remembering)).stdout).toContain("I will remember blue.");
  expect((await aegis("send", remembering, "--wait", "remember red")).stdout).toContain("I will remember red.");

  // The run waits where it was, for the same question.
  const { asks } = await json<{ asks: { id: string; question: string }[] }>("asks");
  expect(asks).toMatchObject([{ question: "Publish peace?" }]);
  expect((await aegis("answer", asks[0]?.id ?? "", "yes")).code).toBe(0);
  const runs = async () => (await json<{ runs: { status: string; result: unknown }[] }>("workflow", "status")).runs;
  await waitUntil("the run ends", async () => (await runs())[0]?.status !== "running");
  expect(await runs()).toMatchObject([{ status: "ok", result: { draft: "done: draft peace", answer: "yes" } }]);

  // The turn that the kill interrupted is answered, then the message that waited behind it.
  await mkdir(join(root, "gates"));
  await writeFile(join(root, "gates/forever"), "");
  const said = async () => (await aegis("history", interrupted)).stdout;
  await waitUntil("the interrupted turn is answered", async () => (await said()).includes("released forever"));
  await waitUntil("the waiting message is answered", async () => (await said()).includes("done: and this waits"));

  // The queue was paused with one task in it.
  const tasks = async () => (await json<{ tasks: Task[] }>("task", "list")).tasks;
  expect(await tasks()).toMatchObject([
    { payload: "dry the dishes", status: "pending" },
    { payload: "wash the dishes", status: "completed" },
  ]);
  expect((await aegis("queue", "resume", "chores")).code).toBe(0);
  await waitUntil("the task is done", async () => (await tasks()).every(({ status }) => status === "completed"));
});

it("reads the lockfiles of version 0.1.0, and the next change of a package replaces both by one", async () => {
  const { aegis, root } = await oldProject();
  await cp(installedSkills, root, { recursive: true });
  expect((await aegis("state", "adopt", "--yes")).code).toBe(0);
  expect((await aegis("skill", "installed")).stdout).toMatch(/tidy-up +intact +project/);
  await writeFile(join(root, "note.md"), "---\nname: note\ndescription: Writes a note.\n---\n\nWrite it.\n");
  expect((await aegis("skill", "install", "./note.md")).code).toBe(0);
  const lockfiles = (await readdir(join(root, ".aegis"))).filter((name) => name.endsWith(".lock"));
  expect(lockfiles).toEqual(["packages.lock"]);
  const lock = JSON.parse(await readFile(join(root, ".aegis/packages.lock"), "utf8"));
  expect([Object.keys(lock.plugins), Object.keys(lock.skills)]).toEqual([["keeper"], ["note", "tidy-up"]]);
  expect((await aegis("skill", "remove", "tidy-up", "--yes")).code).toBe(0);
  // The plugin still matches its entry, so its user is not asked again.
  expect((await aegis("plugin", "list")).stdout).toMatch(/keeper\s+1\.0\.0\s+loaded/);
  expect((await aegis("plugin", "uninstall", "keeper", "--yes")).code).toBe(0);
  expect(Object.keys(JSON.parse(await readFile(join(root, ".aegis/packages.lock"), "utf8")).skills)).toEqual(["note"]);
});
