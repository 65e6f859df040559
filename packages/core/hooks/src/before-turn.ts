/** The hooks between a batch of messages and the agent: `pre_turn`, then `before_agent_start`. */
import type { HookModelMessage, HookSkill, HookTurn } from "@aegis/contract/hook.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { TurnContributor } from "@aegis/sessions/extensions.ts";
import { renderBatch } from "@aegis/sessions/inbox/render.ts";
import type { SessionRow, Store, StoreReads, TurnRow } from "@aegis/store/store.ts";
import type { HookBus } from "./bus.ts";
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
  const contribute: TurnContributor["contribute"] = async ({ session: id, turn, messages, text }, signal) => {
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
  return { hook: "pre_turn", contribute };
}

/** Runs once per turn on harnesses that call their model themselves. Changes are added before the prompt. */
export function beforeAgentStart(options: BeforeTurnOptions): TurnContributor {
  const { bus, store } = options;
  const contribute: TurnContributor["contribute"] = async ({ session: id, text }, signal) => {
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
  return { hook: "before_agent_start", contribute };
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

/** A hook that needs more requests the session's history itself. */
const mostTurns = 50;
const mostCharacters = 200_000;
/** The batch size of reads: small enough to stop early, large enough to limit the number of reads. */
const readAtOnce = 10;

/** Returns the newest turns that fit, in chronological order. */
async function historyBefore(read: StoreReads, session: SessionRow, turn: TurnId): Promise<HookTurn[]> {
  const earlier = await turnsBefore(read, session, turn);
  const history: HookTurn[] = [];
  let characters = 0;
  for (let from = 0; from < earlier.length; from += readAtOnce) {
    const turns = earlier.slice(from, from + readAtOnce);
    const messages = Map.groupBy(await read.messages.inTurns(turns.map(({ id }) => id)), (message) => message.turn);
    for (const { id, text } of turns) {
      const asked = renderBatch(messages.get(id) ?? []);
      characters += asked.length + text.length;
      if (characters > mostCharacters) return history.reverse();
      if (text !== "") history.push({ role: "assistant", text });
      // A message that was sent again belongs to the later turn.
      if (asked !== "") history.push({ role: "user", text: asked });
    }
  }
  return history.reverse();
}

/** Newest first; the turns of the sessions that it was forked from come last. */
async function turnsBefore(read: StoreReads, session: SessionRow, turn: TurnId): Promise<TurnRow[]> {
  const turns: TurnRow[] = [];
  let until: number | undefined;
  for (let row: SessionRow | null = session; row !== null && turns.length < mostTurns; ) {
    const own = await read.turns.list(row.id, mostTurns + 1, until);
    turns.push(...own.filter(({ id }) => id !== turn));
    until = Math.min(until ?? Number.MAX_SAFE_INTEGER, row.fork_point?.seq ?? 0);
    row = row.forked_from === null ? null : await read.sessions.get(row.forked_from);
  }
  return turns.slice(0, mostTurns);
}
