/**
 * The driver port: how one harness is driven. Whatever the harness, a turn is a stream of the same events with exactly
 * one end, and a failure of the agent is such an end, never an exception.
 */
import type { Agent } from "../contract/agent.ts";
import type { SessionId } from "../contract/ids.ts";
import type { Attachment } from "../contract/message.ts";
import type { ToolKind, TurnError, TurnItems, TurnReason, Usage } from "../contract/turn.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/log.ts";
import type { Command, Processes } from "../lib/process.ts";

/** What every driver is made from. `env` is the daemon's own: a driver passes on only the names it lists. */
export type DriverDeps = {
  env: Readonly<Record<string, string | undefined>>;
  processes: Processes;
  clock: Clock;
  log: Logger;
};

export interface Driver {
  readonly harness: string;
  readonly capabilities: Capabilities;
  /** Whether turns of the agent come with what they cost. */
  costs(agent: Pick<Agent, "model">): Costs;
  /** Looks for the harness on this machine. Never throws: what is wrong is in the answer. */
  probe(signal: AbortSignal): Promise<Probe>;
  /**
   * Starts or resumes one conversation. Closing `scope` ends it and every process it started.
   * Throws `DriverError` when the harness cannot be started.
   */
  open(spec: ConversationSpec, scope: AsyncDisposableStack): Promise<Conversation>;
}

/** What a driver can do. The suite tests each claim. */
export type Capabilities = {
  /** A conversation can go on in a new process with its memory. */
  resume: boolean;
  fork: boolean;
  /** A message can join the turn under way. */
  steer: boolean;
  /** The harness speaks to the plane over MCP. In-process drivers call `host.tools` instead. */
  mcp: boolean;
  permissions: boolean;
  images: boolean;
};

/** Told with every turn, with some, with none; `nothing` where there is nothing to pay. */
export type Costs = "told" | "sometimes" | "untold" | "nothing";

export type Probe = {
  status: "ready" | "missing" | "broken";
  version: string | null;
  path: string | null;
  /** One line for people. */
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
  /** Everything the agent is told before the first message: its prompt and how to reach its peers. */
  systemPrompt: string;
  /** What the harness called this conversation before, or null for a new one. */
  resume: string | null;
  /**
   * What the harness called the conversation this one starts from, or null. It counts while there is nothing to resume.
   * Only with the `fork` capability.
   */
  fork: string | null;
  /** What the driver stored with `memory` events, oldest first; after a fork, with those of the other conversation. */
  memory: readonly unknown[];
  /** The MCP endpoint of this session, or null while there is none. */
  plane: PlaneAddress | null;
  host: ConversationHost;
};

export type PlaneAddress = {
  url: string;
  /** Never on a command line, never in a log. */
  token: string;
  /** Resolves true once the harness has listed the tools, false when `ms` pass first. */
  listed(ms: number, signal: AbortSignal): Promise<boolean>;
};

/** What a conversation may ask of the daemon. */
export interface ConversationHost {
  /** Durably keeps what the harness calls this conversation. Await it before a process that uses the name starts. */
  remember(resume: string | null): Promise<void>;
  /** Lets plugins change how a process is started. Throws `DriverError` when one blocks it. */
  prepareSpawn(command: SpawnCommand): Promise<SpawnCommand>;
  /** A person's or a policy's answer to what the harness asks. Never rejects: no answer is a denial with a reason. */
  permission(request: PermissionRequest, signal: AbortSignal): Promise<PermissionAnswer>;
  /** Whether tool calls are judged now, by plugins or by the agent's scope. A harness that can only be stopped at a permission request must then ask. */
  readonly gated: boolean;
  /** What plugins say of a call before the tool runs. Never rejects: a gate that fails denies. */
  beforeTool(use: ToolUse, signal: AbortSignal): Promise<ToolVerdict>;
  /** What plugins make of a tool's result: other text, or null to keep it. Never rejects. */
  afterTool(use: ToolUse, outcome: ToolOutcome, signal: AbortSignal): Promise<string | null>;
  /** What plugins make of what a model is about to be sent. Only drivers that call the model themselves ask. Never rejects. */
  beforeModel(request: ModelRequest, signal: AbortSignal): Promise<ModelRequest>;
  /** Something the harness said between turns. It never starts one. */
  notice(notice: TurnItems["notice"]): void;
  /** A turn that the harness started by itself. Ends with its `turn.ended`. */
  spontaneousTurn(events: AsyncIterable<DriverEvent>): void;
  /** The plane's tools for drivers that live in the daemon. */
  readonly tools: ToolHost;
}

export type SpawnCommand = Command;

export type PermissionRequest = {
  /** The harness's id of the tool call. */
  call: string | null;
  tool: string;
  kind: ToolKind;
  title: string;
  input: unknown;
};

export type PermissionAnswer =
  | { decision: "allow"; scope: "once" | "session"; input?: unknown }
  | { decision: "deny"; reason: string };

/** A call of a tool, of the plane, of a native agent or of the harness itself. */
export type ToolUse = {
  /** The harness's id of the call. */
  call: string | null;
  tool: string;
  kind: ToolKind;
  input: unknown;
};

/** `allow` only raises no objection: what the agent's permission asks for is still asked. */
export type ToolVerdict =
  | { decision: "allow"; input?: unknown }
  | { decision: "deny"; reason: string }
  | { decision: "ask"; reason: string | null; input?: unknown };

/** A message as a model is sent it; `content` is text or a list of parts. */
export type ModelMessage = { role: string; content: unknown };

export type ModelRequest = { systemPrompt: string; messages: readonly ModelMessage[] };

export interface ToolHost {
  /** What this session may use; the same for the length of a turn. */
  list(): Promise<ToolSpec[]>;
  /** The answer to a call of a tool that exists but is kept from this session; null for any other name. */
  refusal(name: string): ToolOutcome | null;
  /** `key` makes a repeated call harmless: the same key never acts twice. */
  call(name: string, input: unknown, options: { key: string; signal: AbortSignal }): Promise<ToolOutcome>;
}

export type ToolSpec = {
  name: string;
  description: string;
  /** JSON Schema of the input. */
  inputSchema: Record<string, unknown>;
  readOnly: boolean;
};

export type ToolOutcome = { output: string; is_error: boolean };

export interface Conversation {
  /**
   * Runs one turn. Always ends with exactly one `turn.ended`; aborting ends it as `cancelled`. Never throws for a
   * failure of the agent.
   */
  send(prompt: Prompt, signal: AbortSignal): AsyncIterable<DriverEvent>;
  /** Adds to the turn under way. False when there is none to add to. Only with the `steer` capability. */
  steer?(message: Addition): Promise<boolean>;
  /** False once the process is gone; the session then opens the conversation again for the next message. */
  readonly alive: boolean;
}

export type Prompt = {
  text: string;
  /** Shown together with the text. Only with the `images` capability. */
  images: readonly PromptImage[];
  /** Messages that plugins add to what was said before this prompt, oldest first; empty for most turns. */
  history: readonly HistoryMessage[];
  /** The id of the turn: the same prompt sent again after a crash carries a new one. */
  turn: string;
  /** Stable over a redelivery, so that effects of the turn can be keyed by it. */
  key: string;
};

/** What joins a turn under way. */
export type Addition = Pick<Prompt, "text" | "images" | "key">;

/** A picture, as a file that its owner alone can read. */
export type PromptImage = { path: string; media_type: Attachment["media_type"] };

export type HistoryMessage = { role: "user" | "assistant"; text: string };

export type DriverEvent =
  /** The harness has the prompt on record: it must not be sent again after a crash. */
  | { type: "accepted" }
  | { type: "text_delta"; message: string; text: string }
  | { type: "thinking_delta"; message: string; text: string }
  | { [T in keyof TurnItems]: { type: T } & TurnItems[T] }[keyof TurnItems]
  | TurnEnded;

export type TurnEnded = {
  type: "turn.ended";
  reason: Exclude<TurnReason, "lost">;
  error: TurnError | null;
  usage: Usage | null;
};

/** A harness that cannot be started, in words a user can act on. */
export class DriverError extends Error {
  override readonly name = "DriverError";
  readonly turnError: TurnError;

  constructor(turnError: TurnError, options?: { cause?: unknown }) {
    super(turnError.message, options);
    this.turnError = turnError;
  }
}
