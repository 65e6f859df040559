/**
 * The driver port: how Aegis runs one harness. For every harness a turn is a stream of the same events with exactly one
 * end. A failure of the agent is such an end, never an exception.
 */
import type { Agent } from "@aegis/contract/agent.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Attachment } from "@aegis/contract/message.ts";
import type { ToolKind, TurnError, TurnItems, TurnReason, Usage } from "@aegis/contract/turn.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Command, Processes } from "@aegis/lib/process.ts";
import type { WriteFile } from "@aegis/lib/staged-writes.ts";

/** The dependencies of every driver. `env` is the daemon's environment; a driver passes on only the names it lists. */
export type DriverDeps = {
  env: Readonly<Record<string, string | undefined>>;
  processes: Processes;
  clock: Clock;
  log: Logger;
};

export interface Driver {
  readonly harness: string;
  readonly capabilities: Capabilities;
  /** Whether the agent's turns report their cost. */
  costs(agent: Pick<Agent, "model">): Costs;
  /** Looks for the harness on this machine. Never throws: the result describes any problem. */
  probe(signal: AbortSignal): Promise<Probe>;
  /**
   * Starts or resumes one conversation. Closing `scope` ends it and every process it started.
   * Throws `DriverError` when the harness cannot be started.
   */
  open(spec: ConversationSpec, scope: AsyncDisposableStack): Promise<Conversation>;
}

/** What a driver can do. The suite tests each claim. */
export type Capabilities = {
  /**
   * Where a conversation can continue in a new process with its memory: on each node of a cluster, because the memory is
   * in the event log, or only on the machine whose files hold it. False if it cannot.
   */
  resume: "anywhere" | "here" | false;
  fork: boolean;
  /** A message can join the current turn. */
  steer: boolean;
  /** The harness calls the plane over MCP. In-process drivers call `host.tools` instead. */
  mcp: boolean;
  permissions: boolean;
  images: boolean;
};

/** Cost reported with every turn, with some, or with none; `nothing` if the model is free. */
export type Costs = "told" | "sometimes" | "untold" | "nothing";

export type Probe = {
  status: "ready" | "missing" | "broken";
  version: string | null;
  path: string | null;
  /** One line for the user. */
  detail: string;
  /** What to do when the status is not `ready`. */
  fix: string | null;
};

export type ConversationSpec = {
  session: { id: SessionId; handle: string };
  agent: Agent;
  /** The project's folder, where the agent works. */
  cwd: string;
  /** A private folder of this session (0700) for temporary files and harness state. */
  stateDir: string;
  /** Everything the agent receives before the first message: its prompt and how to reach its peers. */
  systemPrompt: string;
  /** The harness's id of this conversation, or null for a new one. */
  resume: string | null;
  /**
   * The harness's id of the conversation to fork, or null. Used only if there is nothing to resume, and only with the
   * `fork` capability.
   */
  fork: string | null;
  /**
   * The content of the driver's `memory` events, oldest first; after a fork, including those of the other conversation.
   */
  memory: readonly unknown[];
  /**
   * A prompt may have been delivered without being recorded, so `restored.holds` will be called. A driver that can
   * resume in several ways must choose one that shows the harness's record.
   */
  wantsRecord?: boolean;
  /** The MCP endpoint of this session, or null if there is none yet. */
  plane: PlaneAddress | null;
  host: ConversationHost;
};

export type PlaneAddress = {
  url: string;
  /** Must never appear on a command line or in a log. */
  token: string;
  /** Resolves to true once the harness has sent any request, false after `ms`. */
  reached(ms: number, signal: AbortSignal): Promise<boolean>;
  /** Resolves to true once the harness has listed the tools, false after `ms`. */
  listed(ms: number, signal: AbortSignal): Promise<boolean>;
  /** The harness's calls that Aegis has not answered yet, and when it answered the last one; 0 if there was none. */
  calls(): { open: number; answeredAt: number };
};

/** What a conversation may request from the daemon. */
export interface ConversationHost {
  /**
   * Durably stores the harness's id of this conversation. Await it before starting a process that uses the id. Null
   * means that the conversation of the stored id is gone: call it before another one begins in its place.
   */
  remember(resume: string | null): Promise<void>;
  /** Lets plugins change how a process is started. Throws `DriverError` if a plugin blocks it. */
  prepareSpawn(command: SpawnCommand): Promise<SpawnCommand>;
  /**
   * Checks that everything the agent would run is still what the user trusted: its command and the files that it names,
   * its environment, the harness's settings in the project, its model's address. One answer is valid for one process.
   * Throws `DriverError`.
   */
  consent: AskConsent;
  /**
   * The content of a project file that the agent's options name, exactly as it was checked: a second read could return
   * changed content. Throws `DriverError` if the user has not trusted it, the system error if it cannot be read.
   */
  agreedFile(path: string): Promise<Uint8Array>;
  /** The answer of a person or a policy to a harness's request. Never rejects: no answer is a denial with a reason. */
  permission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer>;
  /**
   * Whether plugins or the agent's scope judge tool calls now. A harness that can be stopped only at a permission
   * request must then ask.
   */
  readonly gated: boolean;
  /**
   * Project-relative paths that Aegis itself guards: a person decides about calls that may write there. A harness that
   * can be stopped only at a permission request then asks about writes and commands, as far as this causes no
   * additional asks. Empty if Aegis guards nothing.
   */
  readonly guarded: readonly string[];
  /**
   * The verdict of plugins and of Aegis before a tool runs. Never rejects: a gate that fails denies. If the call may run
   * and changes files, no other session changes them until `afterTool` or `endTool`.
   */
  beforeTool(use: ToolUse, signal: AbortSignal): Promise<CallVerdict>;
  /** The tool result as changed by plugins, or null to keep it. Never rejects. */
  afterTool(use: ToolUse, outcome: ToolOutcome, signal: AbortSignal): Promise<string | null>;
  /** The call ended, however it ended. Needed where `afterTool` may not follow. Safe to repeat. Never rejects. */
  endTool(use: ToolUse): Promise<void>;
  /** The agent reads these files with a call that does not pass through `beforeTool`. Call it before the agent reads. */
  noteRead(paths: readonly string[]): void;
  /** Replaces a file of the user. Nothing else appears in the folder, even if the daemon is killed. */
  readonly writeFile: WriteFile;
  /** The model request as changed by plugins. Only drivers that call the model themselves use it. Never rejects. */
  beforeModel(request: ModelRequest, signal: AbortSignal): Promise<ModelRequest>;
  /** Reports output of the harness between turns. It never starts a turn. */
  notice(notice: TurnItems["notice"]): void;
  /** A turn that the harness started by itself. It ends with its `turn.ended`. */
  spontaneousTurn(events: AsyncIterable<DriverEvent>): void;
  /** Starts the programs of this session, confined as its settings say. */
  readonly processes: Processes;
  /** Whether it confines them. A harness then runs without a sandbox of its own, which cannot start in another one. */
  readonly confined: boolean;
  /** The plane's tools for in-process drivers. */
  readonly tools: ToolHost;
}

export type SpawnCommand = Command;

export type AskConsent = () => Promise<Consent>;

export type PermissionRequest = {
  /** The harness's id of the tool call. */
  call: string | null;
  tool: string;
  kind: ToolKind;
  title: string;
  input: unknown;
  /** Why the question is asked, from the harness or a gate. */
  reason?: string | null;
  /**
   * A gate requested the ask: an earlier answer for the session applies only if the same gate asked for the same
   * reason.
   */
  gate?: boolean;
  /** The resulting file changes. */
  changes?: readonly FileChange[];
  /** The folder in which the tool would run, if it is not the project folder. */
  cwd?: string;
  /** The harness acts by itself if no answer has come by then. */
  withinMs?: number;
  /** Files that the call affects according to the harness, besides those in the input. */
  paths?: readonly string[];
  /** The answer applies to this call only: no earlier answer settles it, and no answer for later calls is offered. */
  once?: boolean;
  files?: FilesOf;
};

/** Without `before` the whole file is written: its current text is read when a person is asked. */
export type FileChange =
  | {
      path: string;
      before?: string | null;
      after: string | null;
      /** `before` and `after` are parts of the file. */
      part?: true;
    }
  /** Hunks in the harness's own format. */
  | { path: string; patch: string };

export type PermissionAnswer =
  | { decision: "allow"; scope: "once" | "session"; input?: unknown }
  | { decision: "deny"; reason: string };

/** A call of a tool of the plane, of a native agent or of the harness itself. */
export type ToolUse = {
  /** The harness's id of the call. */
  call: string | null;
  tool: string;
  kind: ToolKind;
  input: unknown;
  /** Files that the call affects according to the harness, besides those in the input. */
  paths?: readonly string[];
  files?: FilesOf;
};

/** The files that a call would read or change with an input, as far as the driver knows the tool. */
export type FilesOf = (input: unknown) => { reads?: readonly string[]; changes?: readonly FileChange[] };

/** `allow` only means no objection: the agent's permission can still require an ask. */
export type CallVerdict =
  | { decision: "allow"; input?: unknown }
  | { decision: "deny"; reason: string }
  /** `once`: this call only; see `PermissionRequest`. */
  | { decision: "ask"; reason: string | null; input?: unknown; once?: boolean };

/** A message in the format of model APIs; `content` is text or a list of parts. */
export type ModelMessage = { role: string; content: unknown };

export type ModelRequest = { systemPrompt: string; messages: readonly ModelMessage[] };

export interface ToolHost {
  /** The tools of this session; constant during a turn. */
  list(): Promise<ToolSpec[]>;
  /** The answer to a call of a tool that exists but that this session may not use; null for any other name. */
  refusal(name: string): ToolOutcome | null;
  /** `key` is the idempotency key: the same key never acts twice. */
  call(name: string, input: unknown, options: { key: string; signal: AbortSignal }): Promise<ToolOutcome>;
}

export type ToolSpec = {
  name: string;
  description: string;
  /** JSON Schema of the input. */
  inputSchema: Record<string, unknown>;
  readOnly: boolean;
  /** Set for a tool that waits for other agents: calls of one answer may run in parallel. */
  sideBySide?: SideBySide;
};

/** Calls with the same value in the field `orderedBy` keep their order; null if there is no such field. */
export type SideBySide = { orderedBy: string | null };

export type ToolOutcome = {
  output: string;
  is_error: boolean;
  /** The tool did not answer in time; `is_error` is then true. */
  timed_out?: true;
};

export interface Conversation {
  /**
   * Runs one turn. Always ends with exactly one `turn.ended`; aborting ends it as `cancelled`. Never throws for a
   * failure of the agent.
   */
  send(prompt: Prompt, signal: AbortSignal): AsyncIterable<DriverEvent>;
  /** Adds to the current turn. Returns false if there is none. Only with the `steer` capability. */
  steer?(message: Addition): Promise<boolean>;
  /** False once the process has ended; the session then reopens the conversation for the next message. */
  readonly alive: boolean;
  /** What the harness had when this conversation was opened. */
  readonly restored: ResumeOutcome;
}

/** The outcome of resuming a conversation. It comes from the attempt itself, not from a report of the harness. */
export type ResumeOutcome = {
  /** False if the harness began a new conversation: it was not asked to resume, could not, or had lost its record. */
  conversation: boolean;
  /**
   * Whether the harness's own record of the conversation contains one of the prompts. Call it before the first `send`.
   */
  holds(prompts: HandOvers): Promise<Holding>;
};

/** `no` only if the record was read and is known to show prompts. */
export type Holding = "yes" | "no" | "unknown";

/** A prompt about to be written to a harness, as stored before the write. */
export type SentPrompt = Pick<Prompt, "key"> & {
  /** Identifies the text; see `printOf`. */
  print: string;
};

export type HandOvers = {
  /** The same messages, one entry for each delivery to this conversation. */
  prompts: readonly SentPrompt[];
  /** The prints of other prompts of this session, oldest first. */
  earlier: readonly string[];
};

export type Prompt = {
  text: string;
  /** The messages as rendered, one by one; `text` also includes what plugins added or changed. */
  parts: readonly string[];
  /** Shown together with the text. Only with the `images` capability. */
  images: readonly PromptImage[];
  /** Messages that plugins insert before this prompt, oldest first; empty for most turns. */
  history: readonly HistoryMessage[];
  /** The id of the turn. The same prompt sent again after a crash has a new one. */
  turn: string;
  /** Stable across redeliveries, so that side effects of the turn can be keyed by it. */
  key: string;
};

/** A message that joins the current turn. */
export type Addition = Pick<Prompt, "text" | "parts" | "images" | "key">;

/** An image file that only its owner can read. */
export type PromptImage = { path: string; media_type: Attachment["media_type"] };

export type HistoryMessage = { role: "user" | "assistant"; text: string };

export type DriverEvent =
  /** The harness has stored the prompt: it must not be sent again after a crash. */
  | { type: "accepted" }
  | { type: "text_delta"; message: string; text: string }
  | { type: "thinking_delta"; message: string; text: string }
  /** What the harness calls the conversation now. */
  | { type: "title"; title: string }
  | { [T in keyof TurnItems]: { type: T } & TurnItems[T] }[keyof TurnItems]
  | TurnEnded;

export type TurnEnded = {
  type: "turn.ended";
  reason: Exclude<TurnReason, "lost">;
  error: TurnError | null;
  usage: Usage | null;
};

/** A harness that cannot be started, with a message that says how to fix it. */
export class DriverError extends Error {
  override readonly name = "DriverError";
  readonly turnError: TurnError;

  constructor(turnError: TurnError, options?: { cause?: unknown }) {
    super(turnError.message, options);
    this.turnError = turnError;
  }
}
