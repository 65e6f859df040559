/**
 * What the daemon and a plugin's worker say to each other. Plain data, checked by hand on arrival: the worker runs code
 * that others wrote, and pulling in a schema library would double what it costs.
 */
import type { HookDeclaration } from "../../contract/hook.ts";
import type { HookBatch } from "../registry/hooks.ts";

/** What a worker is started with. */
export type WorkerStart = {
  plugin: string;
  /** The plugin's folder, and its modules in the order they are loaded; absolute paths. */
  root: string;
  modules: readonly string[];
  projectRoot: string;
  dataDir: string;
  config: Readonly<Record<string, unknown>>;
  /** Where `import "aegis"` leads: with zod, without it, and the helpers for tests. */
  api: { full: string; bare: string; testing: string };
  /** Where stripped TypeScript is kept. */
  cacheDir: string;
};

export type ToolDeclaration = {
  name: string;
  description: string;
  /** The JSON Schema of its input. */
  schema: Record<string, unknown>;
  /** The worker checks the input itself, with a schema that JSON Schema may not tell all of. */
  checksInput: boolean;
  permission: "read" | "write" | "full";
  timeoutMs: number;
  requiredAgent: string | null;
  visibleTo: string[];
  readOnly: boolean;
};

/** Where in a plugin something stands; the file is relative to its folder. */
export type Place = { file: string | null; line: number | null };

export type WorkflowDeclaration = {
  name: string;
  description: string;
  /** Null when it takes nothing. */
  schema: Record<string, unknown> | null;
  config: Record<string, unknown>;
  /** Changes whenever its body or its module does. */
  code: string;
  place: Place;
};

export type CommandDeclaration = { name: string; description: string; argumentHint: string | null };

/** What the modules of a plugin define. Calls name a part by its place here. */
export type Contributions = {
  hooks: HookDeclaration[];
  tools: ToolDeclaration[];
  workflows: WorkflowDeclaration[];
  skills: { name: string; description: string; content: string }[];
  agents: { fields: Record<string, unknown>; prompt: string }[];
  commands: CommandDeclaration[];
  reducers: string[];
  /** What the author should know that is no fault. */
  notes: string[];
};

export type Caller = { session: { id: string; handle: string } | null; agent: string | null };

export type WorkerCall =
  | { kind: "hooks"; batch: HookBatch }
  | { kind: "tool"; index: number; input: unknown; key: string; caller: Caller }
  | { kind: "command"; index: number; args: string; caller: Caller }
  | { kind: "reducer"; index: number; replies: readonly { handle: string; text: string }[] }
  | { kind: "workflow"; index: number; args: unknown; about: RunAbout };

/** The part of a workflow's engine that is data. */
export type RunAbout = {
  name: string;
  workflowId: string;
  host: string | null;
  callerHandle: string | null;
  projectRoot: string;
  config: Readonly<Record<string, unknown>>;
};

/** An error on its way between threads. */
export type WireError = {
  name: string;
  message: string;
  stack: string | null;
  /** An expected failure of a workflow. */
  expected: boolean;
  details: unknown;
  /** Of an `AegisError`. */
  code: string | null;
  hint: string | null;
};

export type Outcome = { ok: true; value: unknown } | { ok: false; error: WireError };

export type ToWorker =
  | { type: "call"; id: number; call: WorkerCall }
  /** Nobody waits for the answer any more. */
  | { type: "cancel"; id: number; reason: string }
  | { type: "ping"; id: number }
  /** To a `request`. */
  | { type: "answer"; id: number; outcome: Outcome }
  /** Run the function that came with a request, and tell with `performed`. */
  | { type: "perform"; id: number; request: number; value: unknown }
  /** A branch of a run is over, or all of it when the branch is empty. */
  | { type: "cut"; id: number; branch: string; reason: WireError };

export type FromWorker =
  | { type: "loaded"; contributions: Contributions }
  | { type: "broken"; error: WireError; file: string | null; line: number | null }
  | { type: "done"; id: number; outcome: Outcome }
  | { type: "pong"; id: number }
  | { type: "log"; level: LogLevel; text: string }
  /** A method of a run's engine. Requests of one run are handled in the order they come. */
  | { type: "request"; id: number; call: number; branch: string; method: string; args: unknown[] }
  | { type: "performed"; id: number; outcome: Outcome }
  /** A branch of the `parallel` that this request began has ended. */
  | { type: "branch"; request: number; index: number; outcome: Outcome };

export type LogLevel = "debug" | "info" | "warn" | "error";

const logLevels: readonly unknown[] = ["debug", "info", "warn", "error"] satisfies LogLevel[];

/** The message, or null when a worker said something that is none. */
export function fromWorker(value: unknown): FromWorker | null {
  if (!isMap(value)) return null;
  const isNumber = (key: string) => typeof value[key] === "number";
  const isText = (key: string) => typeof value[key] === "string";
  const hasOutcome = isOutcome(value.outcome);
  const good = {
    loaded: () => isContributions(value.contributions),
    broken: () => isWireError(value.error),
    done: () => isNumber("id") && hasOutcome,
    pong: () => isNumber("id"),
    log: () => logLevels.includes(value.level) && isText("text"),
    request: () =>
      isNumber("id") && isNumber("call") && isText("branch") && isText("method") && Array.isArray(value.args),
    performed: () => isNumber("id") && hasOutcome,
    branch: () => isNumber("request") && isNumber("index") && hasOutcome,
  } satisfies Record<FromWorker["type"], () => boolean>;
  const type = value.type as FromWorker["type"];
  return Object.hasOwn(good, type) && good[type]() ? (value as FromWorker) : null;
}

function isOutcome(value: unknown): boolean {
  return isMap(value) && (value.ok === true || (value.ok === false && isWireError(value.error)));
}

function isWireError(value: unknown): boolean {
  return isMap(value) && typeof value.name === "string" && typeof value.message === "string";
}

function isContributions(value: unknown): boolean {
  const lists = ["hooks", "tools", "workflows", "skills", "agents", "commands", "reducers", "notes"];
  return isMap(value) && lists.every((key) => Array.isArray(value[key]));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
