/** `aegis service`: lets systemd or launchd keep the daemon of a project running over reboots. */
import { existsSync } from "node:fs";
import { mkdir, readFile, realpath, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { configFileName, findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { writeAtomic } from "@aegis/lib/files.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { findDaemon } from "../../daemon/connection.ts";
import type { Handler } from "../../program/command.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { type ServiceFile, serviceFile } from "./service-file.ts";
import { createManager } from "./service-manager.ts";
import type { daemonCommands } from "./spec.ts";

export const install: Handler<typeof daemonCommands.serviceInstall> = async (cx, { print }) => {
  const file = await fileOf(cx);
  if (print) return cx.print(file.text.trimEnd());
  const root = findProjectRoot(cx.cwd);
  if (!existsSync(join(root, configFileName)))
    throw new AegisError("invalid", `there is no project in ${root}`, { hint: "create one with: aegis init" });
  const manager = createManager(file, cx.env);
  // Before anything is written: a file that no manager reads would look like a service.
  await manager.check();
  const running = await findDaemon(cx);
  const before = await contentOf(file);
  await mkdir(dirname(file.path), { recursive: true });
  await writeAtomic(file.path, file.text, { mode: 0o644 });
  try {
    await manager.enable(file, { start: running === null });
  } catch (error) {
    if (before === null) await rm(file.path, { force: true });
    throw error;
  }
  const { atBoot } = manager;
  cx.show({ installed: true, name: file.name, file: file.path, started: running === null }, [
    `Wrote ${file.path}`,
    running === null
      ? "The daemon runs as a service."
      : `A daemon runs already (pid ${running.daemon.pid}); the service starts with your next session.`,
    ...(atBoot === null ? [] : [`To start it with the machine, before you log in: ${atBoot}`]),
  ]);
};

export const status: Handler<typeof daemonCommands.serviceStatus> = async (cx) => {
  const file = await fileOf(cx);
  const content = await contentOf(file);
  if (content === null) {
    const facts = {
      installed: false,
      name: file.name,
      file: file.path,
      enabled: false,
      running: false,
      current: false,
    };
    return cx.show(facts, "No service is installed for this project. Install one with: aegis service install");
  }
  const state = await createManager(file, cx.env).state(file);
  const current = content === file.text;
  cx.show({ installed: true, name: file.name, file: file.path, ...state, current }, [
    `service  ${file.name}, ${state.enabled ? "enabled" : "not enabled"}, ${state.running ? "running" : "not running"}`,
    `file     ${file.path}`,
    ...(current ? [] : ["It was written for another Node, PATH or Aegis. Write it again with: aegis service install"]),
  ]);
};

export const uninstall: Handler<typeof daemonCommands.serviceUninstall> = async (cx) => {
  const file = await fileOf(cx);
  if ((await contentOf(file)) === null)
    return cx.show({ removed: false, file: file.path }, "No service is installed for this project.");
  const manager = createManager(file, cx.env);
  await manager.disable(file);
  await rm(file.path, { force: true });
  await manager.forget();
  cx.show({ removed: true, file: file.path }, `Stopped the service and removed ${file.path}`);
};

async function fileOf(cx: Terminal): Promise<ServiceFile> {
  if (process.platform !== "linux" && process.platform !== "darwin")
    throw new AegisError("unavailable", `no service manager is known for ${process.platform}`, {
      hint: "let your system run at login: aegis -C <project> up",
    });
  const root = findProjectRoot(cx.cwd);
  if (/[\n\r\0]/.test(root)) throw new AegisError("invalid", "the path of the project contains a line break");
  return serviceFile({
    kind: process.platform === "linux" ? "systemd" : "launchd",
    root,
    home: homeOf(cx.env),
    configHome: cx.env.XDG_CONFIG_HOME || undefined,
    path: cx.env.PATH ?? "",
    program: [process.execPath, await realpath(process.argv[1] ?? "")],
    log: join(root, ".aegis", "state", "service.log"),
  });
}

async function contentOf(file: ServiceFile): Promise<string | null> {
  return await readFile(file.path, "utf8").catch(() => null);
}
