import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject, cliPath } from "@aegis/test/helpers/aegis.ts";
import { obedient } from "@aegis/test/helpers/project.ts";
import { openPty } from "@aegis/test/helpers/pty.ts";
import { keys, openApp } from "@aegis/test/helpers/terminal-app.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const clean = { buffer: "normal", paste: false, focus: false, wrap: true, mouse: "none", cursor: true };

describe("the terminal is left as it was", () => {
  it.each([
    ["two presses of Ctrl+C", 0],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("after %s", async (how, code) => {
    const { pty, shows } = await openApp();
    expect(await pty.modes()).toMatchObject({ buffer: "alternate", paste: true, focus: true });
    pty.type("a draft");
    await shows("a draft");
    if (how.startsWith("SIG")) process.kill(pty.pid, how);
    else {
      pty.type(keys.ctrlC);
      pty.type(keys.ctrlC);
      await shows("Press Ctrl+C again to leave");
      pty.type(keys.ctrlC);
    }
    expect(await pty.ended).toBe(code);
    expect(await pty.modes()).toEqual(clean);
  });

  it("after a crash, and the error is readable", async () => {
    const crash = 'process.on("SIGUSR2", () => { throw new Error("it broke") })';
    const { pty, shows } = await openApp({
      prepare: (project) => project.aegis("up"),
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(crash)}` },
    });
    pty.type("a draft");
    await shows("a draft");
    process.kill(pty.pid, "SIGUSR2");
    expect(await pty.ended).not.toBe(0);
    expect(await pty.modes()).toEqual(clean);
    expect(await pty.screen()).toContain("it broke");
  });

  it("while it is suspended, and the app returns with fg", { tags: "slow" }, async () => {
    const project = await aegisProject(obedient);
    await project.aegis("up");
    const pty = openPty("/bin/bash", ["--norc", "--noprofile", "-i"], {
      cwd: project.root,
      env: { ...project.env, PS1: "$ " },
      answers: true,
    });
    pty.type(`'${process.execPath}' '${cliPath}'\r`);
    await pty.shows("● live");
    pty.type("a draft");
    await pty.shows("a draft");
    pty.type(keys.ctrlZ);
    await pty.shows("Stopped");
    expect(await pty.modes()).toMatchObject({ buffer: "normal", cursor: true, focus: false });
    pty.resize(60, 20);
    pty.type("fg\r");
    await waitUntil("the app is back", async () => (await pty.modes()).buffer === "alternate");
    await pty.shows("a draft");
    pty.type(keys.ctrlC);
    pty.type(keys.ctrlC);
    await pty.shows("Press Ctrl+C again");
    pty.type(keys.ctrlC);
    await waitUntil("the shell is back", async () => (await pty.modes()).buffer === "normal");
    pty.type("exit\r");
    await pty.ended;
  });
});

it("prints the summary without a terminal, and refuses keys that do not exist", async () => {
  const project = await aegisProject();
  expect((await project.aegis()).stdout).toContain("aegis chat");
  const settings = join(project.env.HOME ?? "", ".aegis", "terminal.yaml");
  await project.aegis("up");
  await writeFile(settings, "keys:\n  message.stear: ctrl+g\n");
  const pty = openPty(process.execPath, [cliPath], { cwd: project.root, env: project.env, columns: 200 });
  await pty.shows('there is no action message.stear (did you mean "message.steer"?)');
  expect(await pty.ended).toBe(2);
});

it("uses a person's own keys, and shows them", async () => {
  const project = await aegisProject(obedient);
  await project.aegis("up");
  await writeFile(join(project.env.HOME ?? "", ".aegis", "terminal.yaml"), "keys:\n  screen.dashboard: f7\n");
  const { appOn } = await import("@aegis/test/helpers/terminal-app.ts");
  const { pty, shows } = await appOn(project);
  await shows("F7 dashboard");
  pty.type("\u001b[18~");
  await shows("QUEUES");
});

it("draws at every size, also in the middle of a stream", { tags: "slow" }, async () => {
  const { pty, shows } = await openApp();
  pty.type(`stream ${"many words that flow over the edge ".repeat(40)}\r`);
  await shows("many words");
  for (const [columns, rows] of [
    [50, 20],
    [200, 60],
    [19, 5],
    [1, 1],
    [21, 7],
    [80, 24],
  ] as const)
    pty.resize(columns, rows);
  await shows("✓ ready");
  await shows("● live");
});
