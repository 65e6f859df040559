/**
 * Prevents plugin code from killing or taking over the daemon through the shared process. A worker thread has no
 * separate process: a signal to its pid hits the daemon, and the inspector and engine flags affect the main thread. A
 * refused call throws and is also reported to the daemon, because the plugin may swallow the error.
 *
 * This is not a sandbox. A plugin runs as the user: a program that it starts, a native addon, a write to the process's
 * memory or a closed descriptor can still end the daemon.
 */
import { existsSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { fileURLToPath } from "node:url";
import workerThreads from "node:worker_threads";

export type GuardOptions = {
  /** The preload that guards workers started by the plugin. */
  nested: URL;
  report: (message: string) => void;
};

/** Options that run code before the guard, or that expose Node internals. */
const unsafeOption = /^(?:-r|--(?:require|import|(?:experimental-)?loader|expose[-_]internals|inspect.*))(?:=|$)/;

/** Call once, before any code of the plugin is loaded. */
export function guardProcess({ nested, report }: GuardOptions): void {
  const refuse = (what: string, why: string): never => {
    const message = `${what} is refused in a plugin: ${why}`;
    report(message);
    throw new Error(message);
  };
  guardSignals(refuse);
  guardMainThread(refuse);
  guardWorkers(nested, refuse);
  // Named imports (`import { kill } from "node:process"`) are copies.
  syncBuiltinESMExports();
}

type Refuse = (what: string, why: string) => never;

function guardSignals(refuse: Refuse): void {
  for (const name of ["kill", "_kill"] as const) {
    const original = Reflect.get(process, name) as (pid: number, signal?: string | number) => unknown;
    replace(process, name, (pid: unknown, signal?: string | number) => {
      // Convert once: an object may return another number the next time.
      const target = Number(pid);
      const why = signal === 0 ? null : reachesDaemon(target);
      if (why !== null) refuse(`process.${name}(${target})`, why);
      return Reflect.apply(original, process, [target, signal]);
    });
  }
}

/** The reason why a signal to this pid would reach the daemon, or null. */
function reachesDaemon(pid: number): string | null {
  if (pid === process.pid || isThread(pid))
    return "the plugin runs in the daemon's process; use process.exit to stop the plugin";
  if (pid === process.ppid) return "it is the process that started the daemon";
  if (pid === 0) return "it stands for the daemon's process group";
  if (pid === -1) return "it stands for every process of the user";
  if (pid === -process.pid || pid === -ownGroup()) return "it is the daemon's process group";
  return null;
}

/** On Linux, a signal to a thread is a signal to its process. */
function isThread(pid: number): boolean {
  return pid > 0 && existsSync(`/proc/self/task/${pid}`);
}

/** Zero if the system does not report it. */
function ownGroup(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]);
  } catch {
    return 0;
  }
}

function guardMainThread(refuse: Refuse): void {
  const inspector = process.getBuiltinModule("node:inspector");
  replace(inspector.Session.prototype, "connectToMainThread", () =>
    refuse("connectToMainThread", "it would run code in the daemon's main thread"),
  );
  replace(process.getBuiltinModule("node:v8"), "setFlagsFromString", () =>
    refuse("v8.setFlagsFromString", "flags apply to the whole daemon"),
  );
}

/** A nested worker has a new `process`, so it needs the guard too. */
function guardWorkers(nested: URL, refuse: Refuse): void {
  const Original = workerThreads.Worker;
  const guarded = new Proxy(Original, {
    construct(target, [file, given], newTarget) {
      const { execArgv, env, ...options } = (given ?? {}) as import("node:worker_threads").WorkerOptions;
      const unsafe = execArgv?.find((option) => unsafeOption.test(option));
      if (unsafe !== undefined)
        refuse(`a worker with ${unsafe}`, "the option takes effect before the daemon is protected");
      // Uses `--require`, not `--import`: an import is asynchronous, and code passed as text would run before it.
      const preload = ["--disable-warning=ExperimentalWarning", "--require", fileURLToPath(nested)];
      const safe = { ...options, env: withoutNodeOptions(env), execArgv: [...preload, ...(execArgv ?? [])] };
      return Reflect.construct(target, [file, safe], newTarget) as object;
    },
  });
  // Otherwise an instance would give access to the unguarded class.
  replace(Original.prototype, "constructor", guarded);
  replace(workerThreads, "Worker", guarded);
}

/** Copies a shared environment: the plugin could put options there that a nested worker obeys. */
function withoutNodeOptions(env: unknown): NodeJS.ProcessEnv {
  const given = typeof env === "object" && env !== null ? (env as NodeJS.ProcessEnv) : process.env;
  const { NODE_OPTIONS: _, ...rest } = given;
  return rest;
}

function replace(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: false, configurable: false, enumerable: true });
}
