/**
 * Confines programs with bubblewrap: namespaces of its own for files, processes and the network, no capabilities, and a
 * filter of system calls. No helper and no setuid bit.
 */
import { realpath, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Environment } from "@aegis/lib/child-env.ts";
import { findProgram } from "@aegis/lib/find-program.ts";
import type { Command, Processes } from "@aegis/lib/process.ts";
import type { SandboxNetwork } from "../network/network.ts";
import type { SandboxPolicy } from "../policy.ts";
import { type Sandbox, type SandboxReport, SandboxUnavailable } from "../sandbox.ts";
import { isSetuid, isUnsupported, notInstalled } from "./failures.ts";
import { mountArguments } from "./mounts.ts";
import { probe } from "./probe.ts";
import { seccompFilter } from "./seccomp.ts";

export type BubblewrapOptions = {
  processes: Processes;
  /** The daemon's environment, in whose PATH bwrap is searched. */
  env: Environment;
  /** A private folder for the probe; made when it is missing. */
  scratch: string;
};

const isolation = [
  ...["--unshare-user", "--unshare-all", "--disable-userns", "--cap-drop", "ALL"],
  ...["--die-with-parent", "--new-session"],
];

/** Bubblewrap ends at once on SIGTERM and kills everything inside, so it ignores the signal; the program does not. */
const shield = 'trap "" TERM; exec "$0" "$@"';
const unshield = ["/usr/bin/env", "--default-signal=TERM"];

export function createBubblewrap(options: BubblewrapOptions): Sandbox {
  let report: Promise<SandboxReport> | null = null;
  const confine = async (command: Command, policy: SandboxPolicy, network: SandboxNetwork) => {
    const bwrap = await findBwrap(options.env);
    if (typeof bwrap !== "string") throw new SandboxUnavailable(bwrap);
    return confinedCommand(bwrap, command, policy, network);
  };
  const sandbox: Sandbox = {
    report() {
      report ??= reportOf(options, confine);
      return report;
    },
    async confine(command, policy, network) {
      const found = await sandbox.report();
      if (!found.works) throw new SandboxUnavailable(found);
      return confine(command, policy, network);
    },
  };
  return sandbox;
}

async function reportOf(options: BubblewrapOptions, confine: Sandbox["confine"]): Promise<SandboxReport> {
  if (process.platform !== "linux" || seccompFilter({ unixSockets: true }) === null) return isUnsupported;
  const bwrap = await findBwrap(options.env);
  return typeof bwrap === "string" ? probe(bwrap, options, confine) : bwrap;
}

async function findBwrap(env: Environment): Promise<string | typeof notInstalled> {
  const found = await findProgram("bwrap", env.PATH ?? "");
  if (found === null) return notInstalled;
  const file = await realpath(found);
  return ((await stat(file)).mode & 0o6000) === 0 ? file : isSetuid;
}

async function confinedCommand(
  bwrap: string,
  command: Command,
  policy: SandboxPolicy,
  network: SandboxNetwork,
): Promise<Command> {
  const filter = seccompFilter({ unixSockets: policy.level === "workspace" });
  if (filter === null) throw new SandboxUnavailable(isUnsupported);
  const [name, ...rest] = command.argv;
  const named = name.includes("/") ? resolve(command.cwd, name) : name;
  const file = await findProgram(named, command.env.PATH ?? "");
  if (file === null) throw Object.assign(new Error(`no program ${name}`), { code: "ENOENT", syscall: "spawn" });
  const node = process.execPath;
  const needed = [node, launcher(), file, ...(await installationOf(file)), ...searched(command.env)];
  const hidden = new Set(policy.hide);
  const shown: SandboxPolicy = { ...policy, show: [...policy.show, ...needed.filter((path) => !hidden.has(path))] };
  return {
    argv: [
      ...(["/bin/sh", "-c", shield, bwrap] as const),
      ...isolation,
      ...(await mountArguments(shown)),
      ...["--chdir", await realpath(command.cwd), "--seccomp", "4", "--"],
      ...[...unshield, node, ...launcherFlags, launcher(), network.ports.join(","), file, ...rest],
    ],
    env: { ...withoutDoors(command.env), ...network.env, AEGIS_SANDBOX: policy.level },
    cwd: command.cwd,
    launch: { input: filter, onListener: network.onListener, onEnd: network.close },
  };
}

/** What a program reads of its own: its package with those beside it, or the folder of its file. */
async function installationOf(file: string): Promise<string[]> {
  const real = await realpath(file);
  const [, packages] = /^(.*?\/node_modules)\//.exec(real) ?? [];
  return [real, packages ?? dirname(real)];
}

function searched({ PATH = "" }: Readonly<Record<string, string>>): string[] {
  return PATH.split(delimiter).filter(isAbsolute);
}

/** The launcher names it too: it can import nothing from here. */
const heldOptions = "AEGIS_HELD_NODE_OPTIONS";
const launcherFlags = ["--disable-warning=ExperimentalWarning"];

/** Addresses of services of the host that do not exist inside, and a folder for temporary files that may not. */
function withoutDoors(env: Readonly<Record<string, string>>): Record<string, string> {
  const { SSH_AUTH_SOCK, DBUS_SESSION_BUS_ADDRESS, DISPLAY, WAYLAND_DISPLAY, DOCKER_HOST, TMPDIR, ...rest } = env;
  const { NODE_OPTIONS, ...own } = rest;
  // They are for the program, not for the launcher, which gives them back.
  return NODE_OPTIONS === undefined ? own : { ...own, [heldOptions]: NODE_OPTIONS };
}

function launcher(): string {
  const entry = import.meta.url.endsWith(".ts") ? "./launcher.ts" : "./sandbox-launcher.js";
  return fileURLToPath(new URL(entry, import.meta.url));
}
