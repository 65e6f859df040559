/**
 * The messages between the daemon and a plugin's worker. Plain data, validated by hand on arrival: the worker runs
 * untrusted code, and a schema library would double its cost.
 */

import type { HookDeclaration } from "@aegis/contract/hook.ts";
import type { HookBatch } from "@aegis/hooks/hook-table.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import type { LogLevel } from "@aegis/plugin-api/context.ts";

/** The start parameters of a worker. */
export type WorkerStart = {
  plugin: string;
  /** The plugin's folder, and its modules in load order; absolute paths. */
  root: string;
  modules: readonly string[];
  /** The file of a single-file plugin. */
  single?: string | undefined;
  projectRoot: string;
  dataDir: string;
  config: Readonly<Record<string, unknown>>;
  /** The targets of `import "aegis"`: with zod, without it, and the test helpers. */
  api: { full: string; bare: string; testing: string };
  /** The cache of stripped TypeScript. */
  cacheDir: string;
};

/** The worker's data. `guard` is the preload for workers that the plugin starts itself. */
export type WorkerData = WorkerStart & { guard: string };

export type ToolDeclaration = {
  name: string;
  description: string;
  /** The JSON Schema of its input. */
  schema: Record<string, unknown>;
  /** The worker validates the input with a schema that JSON Schema may not fully express. */
  checksInput: boolean;
  permission: "read" | "write" | "full";
  timeoutMs: number;
  requiredAgent: string | null;
  visibleTo: string[];
  readOnly: boolean;
};

/** A place in a plugin; the file is relative to its folder. */
export type SourcePlace = { file: string | null; line: number | null };

export type WorkflowDeclaration = {
  name: string;
  description: string;
  /** Null if it takes no input. */
  schema: Record<string, unknown> | null;
  config: Record<string, unknown>;
  /** A hash that changes with its body or its module. */
  code: string;
  place: SourcePlace;
};

type CommandDeclaration = { name: string; description: string; argumentHint: string | null };

export type ChannelDeclaration = {
  name: string;
  description: string;
  longestText: number;
  paceMs: number;
  /** The optional functions that it has. */
  abilities: string[];
};

/** The functions of a channel that the daemon calls. `check` only proves that the worker answers. */
const channelMethods = [
  ...(["connect", "receive", "send", "ask", "typing", "attach", "openThread", "acknowledge"] as const),
  "check",
] as const;
export type ChannelMethod = (typeof channelMethods)[number];

/** The result of a channel's function, or its failure in the terms of `ChannelError`. */
export type ChannelReply =
  | { ok: true; value: unknown }
  | { ok: false; kind: string; message: string; afterMs: number | null; mayHaveArrived: boolean };

/** The contributions of a plugin's modules. Calls address a part by its index here. */
export type Contributions = {
  hooks: HookDeclaration[];
  tools: ToolDeclaration[];
  workflows: WorkflowDeclaration[];
  skills: { name: string; description: string; content: string }[];
  agents: { fields: Record<string, unknown>; prompt: string }[];
  commands: CommandDeclaration[];
  reducers: string[];
  channels: ChannelDeclaration[];
  /** Notes for the author that are not errors. */
  notes: { level: "info" | "warning"; message: string }[];
  /** Tools that are unusable and were skipped. */
  faults: Fault[];
};

export type Fault = SourcePlace & { message: string };

export type Caller = { session: { id: string; handle: string } | null; agent: string | null };

export type WorkerCall =
  | { kind: "hooks"; batch: HookBatch }
  | { kind: "tool"; index: number; input: unknown; key: string; caller: Caller }
  | { kind: "command"; index: number; args: string; caller: Caller }
  | { kind: "reducer"; index: number; replies: readonly { handle: string; text: string }[] }
  | { kind: "channel"; index: number; method: ChannelMethod; args: unknown[] }
  | { kind: "workflow"; index: number; args: unknown; about: RunAbout };

/** The data part of a workflow's context. */
export type RunAbout = {
  name: string;
  workflowId: string;
  host: string | null;
  callerHandle: string | null;
  projectRoot: string;
  config: Readonly<Record<string, unknown>>;
};

/** A serialized error. */
export type WireError = {
  name: string;
  /** Its built-in class, such as `TypeError`; null for a plain `Error`. */
  base: string | null;
  message: string;
  stack: string | null;
  /** True for an expected failure of a workflow. */
  expected: boolean;
  details: unknown;
  /** The code of an `AegisError`. */
  code: string | null;
  hint: string | null;
};

export type CallOutcome = { ok: true; value: unknown } | { ok: false; error: WireError };

export type ToWorker =
  | { type: "call"; id: number; call: WorkerCall }
  /** The caller no longer waits for the answer. */
  | { type: "cancel"; id: number; reason: string }
  | { type: "ping"; id: number }
  /** The answer to a `request`. */
  | { type: "answer"; id: number; outcome: CallOutcome }
  /** Run the function that came with a request, and reply with `performed`. */
  | { type: "perform"; id: number; request: number; value: unknown }
  /** A branch of a run was aborted, or the whole run if the branch is empty. */
  | { type: "cut"; id: number; branch: string; reason: WireError };

export type FromWorker =
  /** The next load step, for the error message if it never ends. */
  | { type: "loading"; file: string; step: LoadStep }
  | { type: "loaded"; contributions: Contributions }
  | { type: "broken"; error: WireError; file: string | null; line: number | null }
  | { type: "done"; id: number; outcome: CallOutcome }
  | { type: "pong"; id: number }
  | { type: "log"; level: LogLevel; text: string }
  /** A method of the context of a workflow's body. Requests of one run are handled in order. */
  | { type: "request"; id: number; call: number; branch: string; method: string; args: unknown[] }
  | { type: "performed"; id: number; outcome: CallOutcome }
  /** A branch of the `parallel` that this request started has ended. */
  | { type: "branch"; request: number; index: number; outcome: CallOutcome };

/** Evaluating a module, or running its `register`. */
export type LoadStep = "import" | "register";

const logLevels: readonly unknown[] = ["debug", "info", "warn", "error"] satisfies LogLevel[];

/** The parsed message, or null if it is invalid. */
export function fromWorker(value: unknown): FromWorker | null {
  if (!isRecord(value)) return null;
  const isNumber = (key: string) => typeof value[key] === "number";
  const isText = (key: string) => typeof value[key] === "string";
  const hasOutcome = isOutcome(value.outcome);
  const good = {
    loading: () => isText("file") && (value.step === "import" || value.step === "register"),
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
  return isRecord(value) && (value.ok === true || (value.ok === false && isWireError(value.error)));
}

function isWireError(value: unknown): boolean {
  return isRecord(value) && typeof value.name === "string" && typeof value.message === "string";
}

function isContributions(value: unknown): boolean {
  const lists = [
    ...["hooks", "tools", "workflows", "skills", "agents", "commands", "reducers", "channels", "notes"],
    "faults",
  ];
  return isRecord(value) && lists.every((key) => Array.isArray(value[key]));
}
