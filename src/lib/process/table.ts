/** What the system says about processes: `/proc` on Linux, `ps` elsewhere. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

export type ProcessInfo = {
  pid: number;
  parent: number;
  group: number;
  /** Together with the pid it names a process for good, also over a restart of the machine. */
  start: string;
  zombie: boolean;
  command: string;
};

export interface ProcessTable {
  get(pid: number): ProcessInfo | null;
  list(): ProcessInfo[];
  /** `NAME=value` entries, or null where they cannot be read. */
  environment(pid: number): readonly string[] | null;
}

export function systemProcessTable(): ProcessTable {
  return process.platform === "linux" ? linuxTable() : psTable();
}

function linuxTable(): ProcessTable {
  const boot = readOrNull("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  const get = (pid: number): ProcessInfo | null => {
    const stat = readOrNull(`/proc/${pid}/stat`);
    return stat === null ? null : parseStat(pid, stat, boot);
  };
  return {
    get,
    list: () =>
      readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name))
        .map((name) => get(Number(name)))
        .filter((info) => info !== null),
    environment: (pid) => readOrNull(`/proc/${pid}/environ`)?.split("\0") ?? null,
  };
}

/** The command stands in brackets and may itself hold brackets and spaces, so fields count from the last one. */
function parseStat(pid: number, stat: string, boot: string): ProcessInfo {
  const open = stat.indexOf("(");
  const close = stat.lastIndexOf(")");
  const [state, parent, group, ...rest] = stat.slice(close + 2).split(" ");
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    start: `${boot}:${rest[16] ?? ""}`,
    zombie: state === "Z" || state === "X",
    command: stat.slice(open + 1, close),
  };
}

/** Slower, and without environments, but on every Unix. */
export function psTable(): ProcessTable {
  return {
    get: (pid) => ps(["-p", String(pid)])[0] ?? null,
    list: () => ps(["-ax"]),
    environment: () => null,
  };
}

/** `lstart` always has five words. */
const psLine = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+((?:\S+\s+){4}\S+)\s+(.*)$/;

function ps(which: string[]): ProcessInfo[] {
  const args = [...which, "-o", "pid=,ppid=,pgid=,stat=,lstart=,comm="];
  let output: string;
  try {
    output = execFileSync("ps", args, { encoding: "utf8", env: { LC_ALL: "C", PATH: "/bin:/usr/bin" }, stdio: "pipe" });
  } catch {
    // `ps` fails when no process matches.
    return [];
  }
  return output.split("\n").flatMap((line) => {
    const [, pid, parent, group, state, start, command] = psLine.exec(line) ?? [];
    if (pid === undefined || start === undefined) return [];
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        start,
        zombie: state?.startsWith("Z") ?? false,
        command: command ?? "",
      },
    ];
  });
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
