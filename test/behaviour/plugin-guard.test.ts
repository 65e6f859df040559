/** Plugins of the built daemon that try to end it through the process they share with it. */
import { readFile } from "node:fs/promises";
import { expect, it, onTestFinished } from "vitest";
import { isRunning } from "../helpers/pids.ts";
import { sharedDaemon } from "../helpers/project.ts";
import { pluginNamed, toolUser, useTool } from "../helpers/projects/tool-user.ts";
import { waitUntil } from "../helpers/wait-until.ts";

/** Each is the body of a tool, which must throw. A signal that could reach others is one that does no harm. */
const attacks = {
  kill_self: "process.kill(process.pid)",
  kill_self_hard: 'process.kill(process.pid, "SIGKILL")',
  kill_text: 'process.kill(String(process.pid), "SIGKILL")',
  kill_changing: 'let n = 1; process.kill({ valueOf: () => (n++ > 2 ? process.pid : 1 << 21) }, "SIGKILL")',
  kill_parent: "process.kill(process.ppid, 'SIGCONT')",
  kill_group: "process.kill(0, 'SIGCONT')",
  kill_own_group: "process.kill(-process.pid, 'SIGCONT')",
  kill_everyone: "process.kill(-1, 'SIGCONT')",
  kill_thread: 'process.kill(Math.max(...fs.readdirSync("/proc/self/task").map(Number)), "SIGCONT")',
  kill_raw: "process._kill(process.pid, 9)",
  kill_named_import: "kill(process.pid)",
  kill_builtin: 'process.getBuiltinModule("node:process").kill(process.pid)',
  kill_required: 'createRequire(import.meta.url)("process").kill(process.pid)',
  kill_from_vm: 'vm.runInNewContext("p.kill(p.pid)", { p: process })',
  unguard: 'Object.defineProperty(process, "kill", { value: 1 })',
  debug: "new inspector.Session().connectToMainThread()",
  flags: 'v8.setFlagsFromString("--stack-size=9999999")',
  nested: 'await nest("process.kill(process.pid)")',
  nested_deep: `await nest(${JSON.stringify(`new (require("worker_threads").Worker)("process.kill(process.pid)", { eval: true })`)})`,
  nested_class:
    'await nest("process.kill(process.pid)", {}, Object.getPrototypeOf(new Worker("", { eval: true })).constructor)',
  nested_sub: 'class Sub extends Worker {}; await nest("process.kill(process.pid)", {}, Sub)',
  nested_internals: 'await nest("", { execArgv: ["--expose-internals"] })',
  nested_preload: 'await nest("", { execArgv: ["--require", "/tmp/x.cjs"] })',
};

/** An object that turns into another number is converted only once, and the pid belongs to no process. */
const refusal = /refused in a plugin|Cannot redefine property|kill ESRCH/;

const source = `
import { tool } from "aegis";
import { spawn } from "node:child_process";
import fs from "node:fs";
import inspector from "node:inspector";
import { createRequire } from "node:module";
import process, { kill } from "node:process";
import v8 from "node:v8";
import vm from "node:vm";
import { Worker } from "node:worker_threads";

const nest = (code: string, options = {}, Class = Worker) =>
  new Promise((resolve, reject) => {
    const worker = new Class(code, { ...options, eval: true });
    worker.once("error", reject);
    worker.once("exit", resolve);
  });
${Object.entries(attacks)
  .map(
    ([name, body]) =>
      `export const ${name} = tool({ description: "d", permission: "read" }, async () => { ${body}; return "not refused"; });`,
  )
  .join("\n")}
export const harmless = tool({ description: "d", permission: "read" }, async () => {
  const child = spawn("sleep", ["1000"], { detached: true });
  process.kill(child.pid, 0);
  process.kill(process.pid, 0);
  process.kill(-child.pid, "SIGKILL");
  const signal = await new Promise((resolve) => child.once("exit", (_, name) => resolve(name)));
  await nest("process.exitCode = 0");
  return "ended by " + signal;
});
export const start_server = tool({ description: "d", permission: "read" }, () => spawn("setsid", ["sleep", "1000"], { stdio: "ignore" }).pid);
`;

const shared = sharedDaemon({ ...toolUser, ".aegis/plugins/rude/main.ts": source });

it("loads as any other plugin", async () => {
  expect(await pluginNamed(shared.daemon.client, "rude")).toMatchObject({ status: "loaded" });
});

it.each(Object.keys(attacks))("is refused: %s", async (name) => {
  const { client, pid } = shared.daemon;
  expect(await useTool(client, name)).toMatch(refusal);
  expect(isRunning(pid)).toBe(true);
});

it("tells the refusals in the plugin's log, also those that the plugin swallows", async () => {
  const { plugin } = await shared.daemon.client.call("getPlugin", { path: { plugin: "rude" } });
  await waitUntil("the refusals are logged", async () =>
    (await readFile(plugin.log_file, "utf8")).includes("process.kill(0) is refused in a plugin"),
  );
});

it("lets a plugin signal what it has started, and use workers", async () => {
  expect(await useTool(shared.daemon.client, "harmless")).toContain("ended by SIGKILL");
});

it("ends what a plugin has started with the plugin", async () => {
  const { client } = shared.daemon;
  const pid = Number(await useTool(client, "start_server"));
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  });
  expect(isRunning(pid)).toBe(true);
  await shared.project.write(".aegis/plugins/rude/main.ts", `${source}\n// changed\n`);
  await client.call("reloadPlugins");
  await waitUntil("the program is gone", () => !isRunning(pid), 20_000);
});
