/**
 * Hooks: points at which plugins observe or change what happens. All inputs and results of hooks are plain JSON,
 * because plugins run in their own workers.
 */
import type { Sender } from "./message.ts";
import type { ToolKind, TurnError, TurnReason, Usage } from "./turn.ts";

/**
 * `mutator`: its result changes what happens next. `gate`: it allows or denies, and denies if it fails. `observer`: its
 * result is ignored.
 */
export const hookKinds = {
  pre_spawn: "mutator",
  pre_turn: "mutator",
  message_received: "mutator",
  before_agent_start: "mutator",
  pre_tool_use: "gate",
  after_tool_call: "mutator",
  message_sending: "mutator",
  post_turn: "observer",
  session_start: "observer",
  session_end: "observer",
  on_startup: "observer",
  on_shutdown: "observer",
  on_error: "observer",
  on_interrupt: "observer",
  on_handoff: "observer",
  on_enqueue: "observer",
  subagent_spawned: "observer",
  subagent_ended: "observer",
} as const;

export type HookEvent = keyof typeof hookKinds;

export const hookEvents = Object.keys(hookKinds) as HookEvent[];

/** The session a hook is called for. */
export type HookSession = {
  id: string;
  handle: string;
  agent: string;
  harness: string;
  /** 0 for a session that is not a subagent. */
  depth: number;
};

export type HookTurn = { role: "user" | "assistant"; text: string };

export type PreSpawnContext = {
  session: HookSession;
  /** The program and its arguments, as earlier hooks left them. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  projectRoot: string;
  priorResults: readonly PreSpawnResult[];
};
export type PreSpawnResult = {
  /** Replaces the whole command line. */
  argv?: readonly string[];
  /** Merged into the environment; null removes a variable. */
  env?: Readonly<Record<string, string | null>>;
  block?: string;
};

/** A skill that the agent may load in this turn. */
export type HookSkill = {
  name: string;
  description: string;
  /** How well it matches the message; 0 if it does not match. */
  score: number;
};

export type PreTurnContext = {
  session: HookSession;
  turn: string;
  /** The number of turns in the session before this one. */
  turnIndex: number;
  /** How often the conversation was compacted. Each time, the agent may lose what earlier turns started with. */
  summedUp: number;
  userMessage: string;
  senders: readonly Sender[];
  history: readonly HookTurn[];
  /** Best match first. Empty unless a hook offers the skills instead of Aegis. */
  skills: readonly HookSkill[];
  projectRoot: string;
  priorResults: readonly PreTurnResult[];
};
export type PreTurnResult = {
  prependSystem?: string;
  rewriteUser?: string;
  block?: string;
  extendHistory?: readonly HookTurn[];
};

export type MessageReceivedContext = { session: HookSession; content: string; sender: Sender };

/** A message as sent to a model; `content` is text or a list of parts. */
export type HookModelMessage = { role: string; content: unknown };
export type BeforeAgentStartContext = {
  session: HookSession;
  systemPrompt: string;
  messages: readonly HookModelMessage[];
};
export type BeforeAgentStartResult = { systemPrompt?: string; messages?: readonly HookModelMessage[] };

export type ToolUseContext = {
  session: HookSession;
  call: string | null;
  tool: string;
  kind: ToolKind;
  /** The plugin that provides the tool, or null. */
  plugin: string | null;
  input: unknown;
};
export type ToolUseResult =
  | { decision: "allow"; input?: unknown }
  | { decision: "deny"; reason: string }
  | { decision: "ask"; reason?: string; input?: unknown };

export type AfterToolContext = ToolUseContext & { result: string; isError: boolean };

export type MessageSendingContext = { session: HookSession; turn: string; content: string };

export type PostTurnContext = {
  session: HookSession;
  turn: string;
  userMessage: string;
  assistantMessage: string;
  reason: TurnReason;
  error: TurnError | null;
  usage: Usage | null;
  projectRoot: string;
};

export type HookContexts = {
  pre_spawn: PreSpawnContext;
  pre_turn: PreTurnContext;
  message_received: MessageReceivedContext;
  before_agent_start: BeforeAgentStartContext;
  pre_tool_use: ToolUseContext;
  after_tool_call: AfterToolContext;
  message_sending: MessageSendingContext;
  post_turn: PostTurnContext;
  session_start: { session: HookSession; projectRoot: string; resumed: boolean };
  session_end: { session: HookSession; projectRoot: string; reason: string };
  on_startup: { projectRoot: string; version: string };
  on_shutdown: { projectRoot: string; reason: string };
  on_error: { session: HookSession | null; error: TurnError };
  on_interrupt: { session: HookSession; turn: string };
  on_handoff: { from: HookSession; to: HookSession; message: string; content: string };
  on_enqueue: { queue: string; task: string; payload: string; from: HookSession | null };
  subagent_spawned: { session: HookSession; parent: HookSession; runId: string; label: string; task: string };
  subagent_ended: {
    session: HookSession;
    parent: HookSession;
    runId: string;
    label: string;
    status: string;
    result: string;
  };
};

/** What a hook may return. Null and undefined change nothing. Results of observers are ignored. */
export type HookResults = {
  pre_spawn: PreSpawnResult;
  pre_turn: PreTurnResult;
  message_received: string;
  before_agent_start: BeforeAgentStartResult;
  pre_tool_use: ToolUseResult;
  after_tool_call: string;
  message_sending: string | { cancel: true };
} & { [E in HookObserver]: never };

export type HookObserver = { [E in HookEvent]: (typeof hookKinds)[E] extends "observer" ? E : never }[HookEvent];

/** A hook as declared by its plugin. The name is unique within plugin and event. */
export type HookDeclaration = {
  event: HookEvent;
  name: string;
  /** Lower values run first. Default: 0. */
  priority: number;
  strict: boolean;
  /** Null for the configured default. */
  timeoutMs: number | null;
  /** True if this hook tells agents which skills exist, so Aegis does not. */
  offersSkills?: boolean;
};

/** How one call of one hook ended. */
export type HookCallResult = { hook: string; durationMs: number } & (
  | { status: "ok"; value: unknown }
  /** `stack` is absent if the thrown value has none. */
  | { status: "exception"; error: string; stack?: string }
  | { status: "timeout"; error: string }
);
