/** The process that runs `_install.ts` or `_uninstall.ts` of a plugin. The installer stops it. */
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { format } from "node:util";
import type { InstallContext } from "@aegis/plugin-api/install.ts";
import { registerLoader } from "@aegis/plugins/worker/loader.ts";
import type { FromScript, ScriptCall, ScriptStart, ToScript } from "./script-protocol.ts";

// Without an installer there is no work. An uncaught error of the pipe would be sent to that pipe, which causes the next.
const leave = () => process.exit(1);
process.stdout.on("error", leave);
process.stdin.on("close", leave);

const input = createInterface({ input: process.stdin, terminal: false });
const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
let start: ScriptStart | null = null;
let calls = 0;

input.on("line", (line) => {
  if (start === null) {
    start = JSON.parse(line) as ScriptStart;
    void run(start);
    return;
  }
  const answer = JSON.parse(line) as ToScript;
  const waiting = pending.get(answer.id);
  pending.delete(answer.id);
  if ("error" in answer) waiting?.reject(new Error(answer.error));
  else waiting?.resolve(answer.value);
});

async function run(started: ScriptStart): Promise<void> {
  const { file, name } = started;
  const send = (message: FromScript) => process.stdout.write(`${started.mark}${JSON.stringify(message)}\n`);
  process.on("uncaughtException", (error) => send({ type: "failed", message: describe(error, file) }));
  process.on("unhandledRejection", (error) => send({ type: "failed", message: describe(error, file) }));
  globalThis.console = consoleOf(send);
  registerLoader(started.loader);
  try {
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
    const script = module[name];
    if (typeof script !== "function") throw new Error(`expected it to export a function "${name}"`);
    await script(contextOf(started, send));
    send({ type: "done" });
  } catch (error) {
    send({ type: "failed", message: describe(error, file) });
  }
}

function contextOf({ context }: ScriptStart, send: (message: FromScript) => void): InstallContext {
  const ask = (call: ScriptCall): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = ++calls;
      pending.set(id, { resolve, reject });
      send({ type: "call", id, call });
    });
  const decide = async (call: ScriptCall) => (await ask(call)) === true;
  const readFile = async (path: string) => {
    const text = await ask({ method: "readFile", path });
    return typeof text === "string" ? text : null;
  };
  return {
    ...context,
    console: {
      log: (text) => send({ type: "print", level: "log", text: String(text) }),
      warn: (text) => send({ type: "print", level: "warn", text: String(text) }),
    },
    confirm: (question, options) => decide({ method: "confirm", question, preset: options.default }),
    edit: {
      addAgent: (name, entry) => decide({ method: "addEntry", section: "agents", name, entry: { ...entry } }),
      addQueue: (name, entry) => decide({ method: "addEntry", section: "queues", name, entry: { ...entry } }),
      // JSON cannot represent undefined.
      get: async (path) => (await ask({ method: "get", path: [...path] })) ?? undefined,
      set: (path, value) => decide({ method: "set", path: [...path], value }),
      remove: (path) => decide({ method: "remove", path: [...path] }),
    },
    scheduler: {
      writeAtomic: (name, entry) => decide({ method: "addSchedule", name, entry: { ...entry } }),
      remove: (name) => decide({ method: "removeSchedule", name }),
    },
    files: {
      exists: async (path) => (await readFile(path)) !== null,
      read: readFile,
      create: (path, text) => decide({ method: "createFile", path, text }),
      remove: (path) => decide({ method: "removeFile", path }),
    },
  };
}

/** Forwards the script's console output. */
function consoleOf(send: (message: FromScript) => void): Console {
  const print =
    (level: "log" | "warn") =>
    (...values: unknown[]) =>
      send({ type: "print", level, text: format(...values) });
  return Object.assign(Object.create(globalThis.console) as Console, {
    log: print("log"),
    info: print("log"),
    debug: print("log"),
    warn: print("warn"),
    error: print("warn"),
  });
}

/** Includes the place in the script. */
function describe(error: unknown, file: string): string {
  if (!(error instanceof Error)) return String(error);
  const place = error.stack?.split("\n").find((line) => line.includes(file));
  const at = /(\d+):\d+\)?$/.exec(place ?? "")?.[1];
  return at === undefined ? error.message : `${error.message} (line ${at})`;
}
