/**
 * Defines how the hooks of one event compose: what the next hook sees, which result ends the round, and the final
 * outcome. Pure, and used both in plugin workers and in the daemon, so that two hooks compose the same way whether they
 * belong to one plugin or to two.
 */
import type {
  BeforeAgentStartResult,
  HookContexts,
  HookEvent,
  HookModelMessage,
  HookResults,
  HookTurn,
  ToolUseResult,
} from "@aegis/contract/hook.ts";

/** The composed result of all hooks of an event. */
export type HookOutcomes = {
  pre_spawn: { argv: readonly string[] | null; env: Readonly<Record<string, string | null>>; blocked: string | null };
  /** `text` replaces the user's message; `history` is added to the previous conversation. */
  pre_turn: { system: string; text: string | null; history: readonly HookTurn[]; blocked: string | null };
  message_received: { content: string | null };
  before_agent_start: { systemPrompt: string | null; messages: readonly HookModelMessage[] | null };
  pre_tool_use: ToolUseResult;
  after_tool_call: { result: string | null };
  message_sending: { content: string | null; cancelled: boolean };
};

/** The events whose hooks return results. */
export type ComposedEvent = keyof HookOutcomes;

/** Returns the context that the next hook sees. */
export function applyResult<E extends HookEvent>(
  event: E,
  context: HookContexts[E],
  result: HookResults[E] | null,
): HookContexts[E] {
  if (result === null || !isComposed(event)) return context;
  const apply = appliers[event] as unknown as (context: HookContexts[E], result: HookResults[E]) => HookContexts[E];
  return apply(context, result);
}

/** Whether the result ends the round. */
export function ends<E extends HookEvent>(event: E, result: HookResults[E] | null): boolean {
  if (result === null) return false;
  switch (event) {
    case "pre_spawn":
    case "pre_turn":
      return (result as HookResults["pre_spawn" | "pre_turn"]).block !== undefined;
    case "pre_tool_use":
      return (result as ToolUseResult).decision === "deny";
    case "message_sending":
      return typeof (result as HookResults["message_sending"]) !== "string";
    default:
      return false;
  }
}

/** Composes the results in the order in which the hooks ran. */
export function outcomeOf<E extends ComposedEvent>(event: E, results: readonly HookResults[E][]): HookOutcomes[E] {
  const outcome = outcomes[event] as unknown as (results: readonly HookResults[E][]) => HookOutcomes[E];
  return outcome(results);
}

export function isComposed(event: HookEvent): event is ComposedEvent {
  return event in outcomes;
}

/** Applies a hook's changes to the environment. */
export function overlaid(
  env: Readonly<Record<string, string>>,
  over: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const merged: Record<string, string | null> = { ...env, ...over };
  return Object.fromEntries(Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null));
}

const appliers: { [E in ComposedEvent]: (context: HookContexts[E], result: HookResults[E]) => HookContexts[E] } = {
  pre_spawn: (context, result) => ({
    ...context,
    argv: result.argv ?? context.argv,
    env: result.env === undefined ? context.env : overlaid(context.env, result.env),
    priorResults: [...context.priorResults, result],
  }),
  pre_turn: (context, result) => ({
    ...context,
    userMessage: result.rewriteUser ?? context.userMessage,
    history: result.extendHistory === undefined ? context.history : [...context.history, ...result.extendHistory],
    priorResults: [...context.priorResults, result],
  }),
  message_received: (context, content) => ({ ...context, content }),
  before_agent_start: (context, result) => ({
    ...context,
    systemPrompt: result.systemPrompt ?? context.systemPrompt,
    messages: result.messages ?? context.messages,
  }),
  pre_tool_use: (context, result) => ("input" in result ? { ...context, input: result.input } : context),
  after_tool_call: (context, result) => ({ ...context, result }),
  message_sending: (context, result) => (typeof result === "string" ? { ...context, content: result } : context),
};

const outcomes: { [E in ComposedEvent]: (results: readonly HookResults[E][]) => HookOutcomes[E] } = {
  pre_spawn: (results) => ({
    argv: last(results, (result) => result.argv),
    env: Object.assign({}, ...results.map((result) => result.env ?? {})) as Record<string, string | null>,
    blocked: first(results, (result) => result.block),
  }),
  pre_turn: (results) => ({
    system: results
      .map((result) => result.prependSystem ?? "")
      .filter((text) => text !== "")
      .join("\n\n"),
    text: last(results, (result) => result.rewriteUser),
    history: results.flatMap((result) => result.extendHistory ?? []),
    blocked: first(results, (result) => result.block),
  }),
  message_received: (results) => ({ content: results.at(-1) ?? null }),
  before_agent_start: (results: readonly BeforeAgentStartResult[]) => ({
    systemPrompt: last(results, (result) => result.systemPrompt),
    messages: last(results, (result) => result.messages),
  }),
  pre_tool_use: verdict,
  after_tool_call: (results) => ({ result: results.at(-1) ?? null }),
  message_sending: (results) => ({
    content: last(results, (result) => (typeof result === "string" ? result : undefined)),
    cancelled: results.some((result) => typeof result !== "string"),
  }),
};

/**
 * A denial takes precedence over a question. The last rewritten input applies if the call is allowed or asked about.
 */
function verdict(results: readonly ToolUseResult[]): ToolUseResult {
  const denial = results.find((result) => result.decision === "deny");
  if (denial !== undefined) return denial;
  const rewriting = results.findLast((result) => result.decision !== "deny" && "input" in result);
  const input = rewriting !== undefined && "input" in rewriting ? { input: rewriting.input } : {};
  const question = results.find((result) => result.decision === "ask");
  if (question === undefined) return { decision: "allow", ...input };
  return { decision: "ask", ...(question.reason === undefined ? {} : { reason: question.reason }), ...input };
}

function first<R, T>(results: readonly R[], pick: (result: R) => T | undefined): T | null {
  for (const result of results) {
    const value = pick(result);
    if (value !== undefined) return value;
  }
  return null;
}

function last<R, T>(results: readonly R[], pick: (result: R) => T | undefined): T | null {
  return first(results.toReversed(), pick);
}
