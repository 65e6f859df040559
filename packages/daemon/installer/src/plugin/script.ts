/**
 * Runs `_install.ts` or `_uninstall.ts` in a separate process with a deadline. The script's requests go into the plan;
 * a script that throws, exits early or times out fails the whole install.
 */
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AegisError } from "@aegis/contract/errors.ts";
import { childEnv, type Environment } from "@aegis/lib/child-env.ts";
import { lines } from "@aegis/lib/jsonl.ts";
import { errorText } from "@aegis/lib/log.ts";
import { ownConsent } from "@aegis/lib/own-consent.ts";
import type { Child, Processes } from "@aegis/lib/process.ts";
import { apiEntries } from "@aegis/plugins/host/entries.ts";
import type { Additions, ProjectConfig } from "./additions.ts";
import {
  type FromScript,
  fromScriptSchema,
  type ScriptCall,
  type ScriptStart,
  type ToScript,
} from "./script-protocol.ts";

/** The interface to the person at the terminal. */
export interface Person {
  /** `preset` is the answer if no person can be asked or if everything was confirmed in advance. */
  confirm(question: string, preset: boolean): Promise<boolean>;
  print(line: string): void;
  warn(line: string): void;
}

export type ScriptOptions = {
  name: "install" | "uninstall";
  context: ScriptStart["context"];
  additions: Additions;
  config: ProjectConfig;
  /** A temporary folder for the script. */
  scratch: string;
  person: Person;
  processes: Processes;
  env: Environment;
  signal: AbortSignal;
  /** Time that a person takes to answer does not count. */
  timeoutMs?: number;
};

const defaultTimeoutMs = 120_000;
const endings = ["ts", "js", "mts", "mjs"];

/** The script of a plugin, or null. */
export async function findScript(dir: string, name: "install" | "uninstall"): Promise<string | null> {
  for (const ending of endings) {
    const path = join(dir, `_${name}.${ending}`);
    const found = await stat(path).catch(() => null);
    if (found?.isFile()) return path;
  }
  return null;
}

/** Throws `invalid` with the script's error, or `timeout`. Leaves no process behind. */
export async function runScript(file: string, options: ScriptOptions): Promise<void> {
  const { context, name, processes, env, signal } = options;
  signal.throwIfAborted();
  const mark = `${randomBytes(8).toString("hex")} `;
  const command = [process.execPath, "--disable-warning=ExperimentalWarning", scriptMain()] as const;
  const child = await processes.start(
    { argv: command, cwd: context.projectRoot, env: childEnv(env, []) },
    ownConsent("install"),
  );
  const deadline = new Deadline(options.timeoutMs ?? defaultTimeoutMs, () => void child.stop());
  const onAbort = () => void child.stop();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    deadline.resume();
    const loader = { root: context.pluginDir, api: apiEntries(), cacheDir: join(options.scratch, "modules") };
    write(child, { mark, file, name, context, loader } satisfies ScriptStart);
    const end = await converse(child, mark, options, deadline);
    signal.throwIfAborted();
    if (end?.type === "done") return;
    const what = `_${name} of plugin "${context.pluginName}"`;
    if (deadline.passed) throw new AegisError("timeout", `${what} did not finish in time and was stopped`);
    const exit = end === null ? await child.exited : null;
    const why =
      end?.type === "failed" ? end.message : `its process exited early (exit code ${exit?.code})${tail(child)}`;
    throw new AegisError("invalid", `${what} failed: ${why}`);
  } finally {
    deadline.pause();
    signal.removeEventListener("abort", onAbort);
    await child.stop({ graceMs: 200 });
  }
}

type End = Extract<FromScript, { type: "done" | "failed" }>;

async function converse(child: Child, mark: string, options: ScriptOptions, deadline: Deadline): Promise<End | null> {
  for await (const line of lines(child.stdout)) {
    if (!line.startsWith(mark)) {
      options.person.print(line);
      continue;
    }
    const message = fromScriptSchema.parse(JSON.parse(line.slice(mark.length)), { jitless: true });
    if (message.type === "done" || message.type === "failed") return message;
    if (message.type === "print") options.person[message.level === "warn" ? "warn" : "print"](message.text);
    else write(child, await answer(message.id, message.call, options, deadline));
  }
  return null;
}

async function answer(id: number, call: ScriptCall, options: ScriptOptions, deadline: Deadline): Promise<ToScript> {
  deadline.pause();
  try {
    return { id, value: (await perform(call, options)) ?? null };
  } catch (error) {
    return { id, error: errorText(error) };
  } finally {
    deadline.resume();
  }
}

async function perform(call: ScriptCall, { additions, config, person }: ScriptOptions): Promise<unknown> {
  const { plan } = additions;
  switch (call.method) {
    case "confirm":
      return person.confirm(call.question, call.preset);
    case "addEntry":
      return additions.value([call.section, call.name], call.entry);
    case "get":
      return config.read(plan, call.path);
    case "set":
      return additions.value(call.path, call.value);
    case "remove":
      return additions.removeValue(call.path);
    case "addSchedule":
      return additions.schedule(call.name, call.entry);
    case "removeSchedule":
      return additions.removeFile(config.schedulePath(call.name));
    case "readFile": {
      const bytes = await plan.read(call.path);
      return bytes === null ? null : Buffer.from(bytes).toString("utf8");
    }
    case "createFile":
      return additions.file(call.path, call.text);
    case "removeFile":
      return additions.removeFile(call.path);
  }
}

function write(child: Child, message: ScriptStart | ToScript): void {
  child.stdin.write(`${JSON.stringify(message)}\n`);
}

function tail(child: Child): string {
  const text = child.stderrTail().trim();
  return text === "" ? "" : `: ${text.split("\n").slice(-5).join("\n")}`;
}

function scriptMain(): string {
  const entry = import.meta.url.endsWith(".ts") ? "./script-main.ts" : "./plugin-script.js";
  return fileURLToPath(new URL(entry, import.meta.url));
}

/** A deadline that can be paused. */
class Deadline {
  passed = false;
  #leftMs: number;
  #startedAt = 0;
  #timer: NodeJS.Timeout | null = null;
  readonly #onPass: () => void;

  constructor(ms: number, onPass: () => void) {
    this.#leftMs = ms;
    this.#onPass = onPass;
  }

  resume(): void {
    this.#startedAt = performance.now();
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#onPass();
    }, this.#leftMs);
  }

  pause(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#startedAt));
  }
}
