/** Process information from the system: `/proc` on Linux, `ps` on other systems. */
import { execFile, execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";

export type ProcessInfo = {
  pid: number;
  parent: number;
  group: number;
  /** The session id (`setsid`), or 0 if the system does not report it. */
  session: number;
  /** Together with the pid it identifies a process permanently, even across reboots. */
  start: string;
  /** The start time in a unit of this table; only useful for comparison. */
  began: number;
  zombie: boolean;
  command: string;
};

export interface ProcessTable {
  get(pid: number): ProcessInfo | null;
  list(): ProcessInfo[];
  /** Same as `list`, but yields to the event loop between slices, so that many processes do not block it. */
  survey(): Promise<ProcessInfo[]>;
  /** `NAME=value` entries that the process was started with, or null if they are unreadable. */
  environment(pid: number): readonly string[] | null;
  /** Maps pid to the value of a variable, for the processes that were started with it. Yields between slices. */
  variable(name: string, among: readonly ProcessInfo[]): Promise<Map<number, string>>;
}

/** About one millisecond of reading. */
const slice = 50;

export function systemProcessTable(): ProcessTable {
  return process.platform === "linux" ? linuxTable() : psTable();
}

function linuxTable(): ProcessTable {
  const boot = readOrNull("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  const get = (pid: number): ProcessInfo | null => {
    const stat = readOrNull(`/proc/${pid}/stat`);
    return stat === null ? null : parseStat(pid, stat, boot);
  };
  const pids = () =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  return {
    get,
    list: () =>
      pids()
        .map(get)
        .filter((info) => info !== null),
    async survey() {
      const found: ProcessInfo[] = [];
      for await (const pid of inSlices(pids())) {
        const info = get(pid);
        if (info !== null) found.push(info);
      }
      return found;
    },
    environment: (pid) => readOrNull(`/proc/${pid}/environ`)?.split("\0") ?? null,
    async variable(name, among) {
      const values = new Map<number, string>();
      for await (const { pid } of inSlices(among)) {
        const value = valueIn(readOrNull(`/proc/${pid}/environ`) ?? "", `${name}=`);
        if (value !== null) values.set(pid, value);
      }
      return values;
    },
  };
}

async function* inSlices<T>(items: readonly T[]): AsyncGenerator<T> {
  for (let from = 0; from < items.length; from += slice) {
    if (from > 0) await nextTurn();
    yield* items.slice(from, from + slice);
  }
}

function valueIn(environment: string, prefix: string): string | null {
  const entry = environment.split("\0").find((one) => one.startsWith(prefix));
  return entry === undefined ? null : entry.slice(prefix.length);
}

/**
 * The command is in parentheses and may itself contain parentheses and spaces, so fields are counted from the last one.
 */
function parseStat(pid: number, stat: string, boot: string): ProcessInfo {
  const open = stat.indexOf("(");
  const close = stat.lastIndexOf(")");
  const [state, parent, group, session, ...rest] = stat.slice(close + 2).split(" ");
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    start: `${boot}:${rest[15] ?? ""}`,
    began: Number(rest[15]),
    zombie: state === "Z" || state === "X",
    command: stat.slice(open + 1, close),
  };
}

/** Slower, but works on every Unix. macOS reports no sessions, and no environment of protected programs. */
export function psTable(): ProcessTable {
  return {
    get: (pid) => ps(["-p", String(pid)])[0] ?? null,
    list: () => ps(["-ax"]),
    survey: async () => parsePs(await psLater(["-ax", ...columns])),
    environment: () => null,
    async variable(name, among) {
      if (among.length === 0) return new Map();
      const wanted = new Set(among.map(({ pid }) => pid));
      const output = await psLater([process.platform === "darwin" ? "-axEww" : "axeww", "-o", "pid=,command="]);
      const values = new Map<number, string>();
      for (const line of output.split("\n")) {
        const [, pid, text = ""] = /^\s*(\d+)\s(.*)$/.exec(line) ?? [];
        // `ps` prints the entries after the arguments, separated by spaces, which values may also contain.
        const value = new RegExp(` ${name}=(.*?)(?= [A-Za-z_][A-Za-z0-9_]*=|$)`).exec(text)?.[1];
        if (value !== undefined && wanted.has(Number(pid))) values.set(Number(pid), value);
      }
      return values;
    },
  };
}

/** `lstart` always has five words. */
const psLine = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+((?:\S+\s+){4}\S+)\s+(.*)$/;

const columns = ["-o", "pid=,ppid=,pgid=,stat=,lstart=,comm="];
const psOptions = {
  encoding: "utf8",
  env: { LC_ALL: "C", PATH: "/bin:/usr/bin" },
  maxBuffer: 64 * 1024 * 1024,
} as const;

function ps(which: string[]): ProcessInfo[] {
  try {
    return parsePs(execFileSync("ps", [...which, ...columns], { ...psOptions, stdio: "pipe" }));
  } catch {
    // `ps` fails when no process matches.
    return [];
  }
}

function psLater(args: string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile("ps", args, psOptions, (error, output) => resolve(error === null ? output : ""));
  });
}

function parsePs(output: string): ProcessInfo[] {
  return output.split("\n").flatMap((line) => {
    const [, pid, parent, group, state, start, command] = psLine.exec(line) ?? [];
    if (pid === undefined || start === undefined) return [];
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: 0,
        start,
        began: Date.parse(start) || 0,
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
