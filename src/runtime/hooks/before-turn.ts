/** The hooks between a batch of messages and the agent: `pre_turn`, then `before_agent_start`. */
import type { HookModelMessage, HookSkill, HookTurn } from "../../contract/hook.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import type { TurnContributor } from "../sessions/prepare.ts";
import type { HookBus } from "./bus.ts";
import { historyBefore } from "./history.ts";
import { hookSession } from "./subject.ts";

export type BeforeTurnOptions = {
  bus: HookBus;
  store: Store;
  projectRoot: string;
  /** The skills that the agent may load, the best match for the text first; empty if Aegis itself offers them. */
  skills: (session: SessionRow, text: string, signal: AbortSignal) => Promise<readonly HookSkill[]>;
  /** The system prompt that the session's agent has or will get. */
  systemPrompt: (session: SessionId) => Promise<string>;
  /** True if the driver calls the model itself and runs the hooks there for each call. */
  callsModel: (session: SessionRow) => boolean;
};

const mostSummaries = 10_000;

export function preTurn({ bus, store, projectRoot, skills }: BeforeTurnOptions): TurnContributor {
  return async ({ session: id, turn, messages, text }, signal) => {
    if (!bus.has("pre_turn")) return null;
    const { read } = store;
    const row = await read.sessions.get(id);
    if (row === null) return null;
    const context = {
      session: hookSession(row),
      turn,
      // Counts ended turns; the current one has not ended.
      turnIndex: await read.turns.countEndedAfter(id, 0),
      summedUp: (await read.events.list({ session: id, types: ["turn.compaction"], limit: mostSummaries })).length,
      userMessage: text,
      senders: messages.map((message) => message.sender),
      history: await historyBefore(read, row, turn),
      skills: await skills(row, text, signal),
      projectRoot,
      priorResults: [],
    };
    const outcome = await bus.run("pre_turn", context, signal);
    if (outcome.blocked !== null) return { blocked: outcome.blocked };
    return {
      context: outcome.system,
      history: outcome.history,
      ...(outcome.text === null ? {} : { text: outcome.text }),
    };
  };
}

/** Runs once per turn on harnesses that call their model themselves. Changes are added before the prompt. */
export function beforeAgentStart(options: BeforeTurnOptions): TurnContributor {
  const { bus, store } = options;
  return async ({ session: id, text }, signal) => {
    if (!bus.has("before_agent_start")) return null;
    const row = await store.read.sessions.get(id);
    if (row === null || options.callsModel(row)) return null;
    const systemPrompt = await options.systemPrompt(id);
    const context = { session: hookSession(row), systemPrompt, messages: [{ role: "user", content: text }] };
    const outcome = await bus.run("before_agent_start", context, signal);
    const said = outcome.messages === null ? null : conversationOf(outcome.messages);
    return {
      ...(outcome.systemPrompt === null ? {} : { context: added(systemPrompt, outcome.systemPrompt) }),
      ...(said === null ? {} : said),
    };
  };
}

/**
 * The harness already has its prompt, so only the added text is sent, or the whole prompt if the difference is not an
 * addition.
 */
function added(before: string, after: string): string {
  if (after.startsWith(before)) return after.slice(before.length).trim();
  if (after.endsWith(before)) return after.slice(0, after.length - before.length).trim();
  return after.trim();
}

/** The user's last message is the prompt; everything before it is history. */
function conversationOf(messages: readonly HookModelMessage[]): { text?: string; history: HookTurn[] } {
  const last = messages.findLastIndex((message) => message.role === "user");
  const prompt = last === -1 ? "" : textOf(messages[last]?.content);
  const history = messages.slice(0, Math.max(last, 0)).flatMap(({ role, content }): HookTurn[] => {
    const text = textOf(content);
    return (role === "user" || role === "assistant") && text !== "" ? [{ role, text }] : [];
  });
  return { ...(prompt === "" ? {} : { text: prompt }), history };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.map((part: unknown) => (part as { text?: unknown } | null)?.text);
  return texts.filter((text) => typeof text === "string").join("\n\n");
}
