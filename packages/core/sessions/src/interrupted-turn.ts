/**
 * What a harness may have received. A delivery is recorded before it starts. After a crash, Aegis decides about messages
 * that were delivered when the conversation is open again: it depends on whether the harness restored it and on the
 * harness's own record.
 */
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Conversation, Holding, Prompt } from "@aegis/drivers/driver.ts";
import { printOf } from "@aegis/lib/text-digest.ts";
import type { HandOver, StoreTx } from "@aegis/store/store.ts";
import { renderMessage } from "./inbox/render.ts";

export type InterruptedTurn = {
  /** Oldest first; never empty. */
  handed: readonly HandOver[];
  /** The deliveries to the conversation that the session still has. */
  live: readonly HandOver[];
  /** The harness had started to answer a turn with a live delivery. */
  begun: boolean;
  /** The harness had confirmed a live delivery. */
  confirmed: boolean;
  /** The fingerprints of other prompts of the session. */
  earlier: readonly string[];
  /**
   * Messages that joined the interrupted turn. They are not part of the batch: side effects are keyed by the messages
   * with which a turn started.
   */
  joined: readonly InterruptedJoin[];
};

/** A message that joined an interrupted turn. */
export type InterruptedJoin = { message: Message; interrupted: Omit<InterruptedTurn, "joined"> };

/**
 * `deliver`: as if for the first time. `again`: marked as work that may have started. `repeat`: marked as something
 * that the agent may already have. `continue`: the agent has the messages and is asked to continue.
 */
export type ResumeDecision = "deliver" | "again" | "repeat" | "continue";

/** Per turn. */
const mostJoined = 1000;
/** The number of turns whose prompts are searched for in the harness's record. */
const mostEarlier = 100;

export type InterruptionSearch = {
  session: SessionId;
  /** The harness's id of the conversation. */
  conversation: string | null;
};

/**
 * Returns the messages of the next turn and, if a crash interrupted them, what is known about their delivery. An
 * interrupted batch forms a turn by itself, and so does each message that had joined it and was not adopted.
 */
export async function nextBatch(
  tx: StoreTx,
  search: InterruptionSearch,
  waiting: readonly Message[],
): Promise<{ batch: readonly Message[]; interrupted: InterruptedTurn | null }> {
  const mark = waiting[0]?.turn ?? null;
  const marked = waiting.filter((message) => message.turn === mark);
  if (mark === null) return { batch: marked, interrupted: null };
  const late = await joinedLater(tx, search.session, mark);
  const began = marked.filter(({ id }) => !late.has(id));
  const joined: InterruptedJoin[] = [];
  for (const message of marked) {
    if (!late.has(message.id)) continue;
    const interrupted = await interruptionOfJoined(tx, search, mark, {
      message,
      confirmed: late.get(message.id) === true,
    });
    if (interrupted !== null) joined.push({ message, interrupted });
  }
  if (began.length > 0) {
    const interrupted = await interruptionOfBatch(tx, search, mark);
    return { batch: began, interrupted: interrupted && { ...interrupted, joined } };
  }
  const [first] = joined;
  if (first === undefined) return { batch: marked.slice(0, 1), interrupted: null };
  return { batch: [first.message], interrupted: { ...first.interrupted, joined: [] } };
}

/** What is known about the delivery of a turn's first messages, or null if they were never delivered. */
export async function interruptionOfBatch(
  tx: StoreTx,
  search: InterruptionSearch,
  turn: TurnId,
): Promise<Omit<InterruptedTurn, "joined"> | null> {
  const handed = ((await tx.turns.get(turn))?.handed_over ?? []).filter(({ joined }) => joined === undefined);
  return describe(tx, search, handed, null);
}

async function interruptionOfJoined(
  tx: StoreTx,
  search: InterruptionSearch,
  turn: TurnId,
  { message, confirmed }: { message: Message; confirmed: boolean },
): Promise<Omit<InterruptedTurn, "joined"> | null> {
  const handed = (await tx.turns.get(turn))?.handed_over ?? [];
  const own = handed.filter(({ joined }) => joined === message.id);
  // State from a version that did not record deliveries: only the joined messages are known.
  const unrecorded = handed.map((one): HandOver => ({ ...one, key: "", print: "", joined: message.id }));
  return describe(tx, search, own.length > 0 ? own : unrecorded, confirmed);
}

/** `confirmed` is null if the turn's row contains it. */
async function describe(
  tx: StoreTx,
  { session, conversation }: InterruptionSearch,
  handed: readonly HandOver[],
  confirmed: boolean | null,
): Promise<Omit<InterruptedTurn, "joined"> | null> {
  if (handed.length === 0) return null;
  const live = handed.filter((one) => one.conversation === conversation);
  const rows = await Promise.all(live.map(({ turn }) => tx.turns.get(turn)));
  const begun = rows.some((row) => row?.accepted === true);
  const others = (await tx.turns.list(session, mostEarlier))
    .flatMap(({ id, handed_over }) => handed_over.filter(({ turn }) => turn === id))
    .filter((one) => !handed.some(({ turn, key }) => turn === one.turn && key === one.key));
  return { handed, live, begun, confirmed: confirmed ?? begun, earlier: others.map(({ print }) => print) };
}

/** Queries the harness before the next prompt is sent. */
export async function judgeInterruption(
  interrupted: Omit<InterruptedTurn, "joined">,
  { restored }: Pick<Conversation, "restored">,
): Promise<ResumeDecision> {
  if (!restored.conversation || interrupted.live.length === 0) return "again";
  const holding = await restored.holds({ prompts: interrupted.live, earlier: interrupted.earlier });
  return verdictOf(holding, { ...interrupted, begunElsewhere: interrupted.live.length < interrupted.handed.length });
}

/** For a conversation that was restored. */
export function verdictOf(
  holding: Holding,
  was: { begun: boolean; confirmed: boolean; begunElsewhere: boolean },
): ResumeDecision {
  switch (holding) {
    case "yes":
      return "continue";
    case "no":
      return was.begun || was.begunElsewhere ? "again" : "deliver";
    case "unknown":
      return was.confirmed ? "continue" : "repeat";
  }
}

const words: Readonly<Record<Exclude<ResumeDecision, "deliver">, string>> = {
  continue:
    "Your last turn was cut because Aegis stopped. You have its messages already; they are not repeated. " +
    "Some of your tool calls may have taken effect without your seeing the result: check before you repeat them. Go on.",
  again:
    "Aegis stopped while the following was being worked on, and this conversation has no record of it. " +
    "Some of the work may have been done: check before you repeat it.",
  repeat:
    "Aegis stopped just as the following was sent, and cannot tell whether you received it. " +
    "If you have it already, this is a repetition: check what is done before you do it again.",
};

/** The text that the agent gets before the messages, or instead of them. */
export function interruptionText(verdict: Exclude<ResumeDecision, "deliver">, at: number): string {
  return renderMessage({ sender: { kind: "substrate" }, body: words[verdict], admitted_at: at });
}

/** The text for people who watch the turn. */
export const interruptionNotes: Readonly<Record<ResumeDecision, string | null>> = {
  deliver: null,
  again:
    "Aegis had stopped in the middle of this, and the agent has no record of it: it was sent again, marked as such.",
  repeat: "Aegis had stopped while this was sent: it was sent again, marked as a possible repetition.",
  continue: "Aegis had stopped in the middle of this. The agent has the message and was told to continue.",
};

/** The reasons for reporting messages as lost instead of sending them again, if the agent's `on_crash` is `fail`. */
export const lostReasons: Readonly<Record<"again" | "repeat", string>> = {
  again:
    "Aegis stopped while the agent was at work on it, and the agent has no record of it. It was not sent again, because the agent's on_crash is fail.",
  repeat:
    "Aegis stopped while it was sent, and it is not known whether the agent received it. It was not sent again, because the agent's on_crash is fail.",
};

/** The messages that joined the turn later; true for those that the harness confirmed. */
export async function joinedLater(
  tx: StoreTx,
  session: SessionId,
  turn: TurnId,
): Promise<ReadonlyMap<MessageId, boolean>> {
  const offered = (await tx.turns.get(turn))?.handed_over ?? [];
  const late = new Map<MessageId, boolean>();
  for (const { joined } of offered) if (joined !== undefined) late.set(joined, false);
  const steered = { session, types: ["message.steered" as const], from: "newest" as const };
  for (const event of await tx.events.list({ ...steered, limit: mostJoined }))
    if (isJoining(event) && event.data.turn === turn) late.set(event.data.message, true);
  return late;
}

const isJoining = (event: Event): event is EventOf<"message.steered"> => event.type === "message.steered";

/** More interrupted turns in a row are not searched. */
const mostUnanswered = 20;

/** The messages that an agent has but did not answer: of directly preceding turns that were interrupted or failed. */
export async function unansweredMessages(tx: StoreTx, session: SessionId): Promise<Message[]> {
  const [last] = await tx.turns.list(session, 1);
  if (last === undefined || last.reason === "completed") return [];
  const recent = await tx.turns.list(session, mostUnanswered);
  const answered = recent.findIndex(({ reason }) => reason === "completed");
  const cut = answered === -1 ? recent : recent.slice(0, answered);
  const messages = await tx.messages.inTurns(cut.map(({ id }) => id));
  // A lost message is also missing from the agent's memory.
  return messages.filter(({ status }) => status === "done");
}

export type WrittenPrompt = Pick<Prompt, "key" | "text"> & {
  session: SessionId;
  turn: TurnId;
  /** Set for a message that joins the running turn. */
  joined?: MessageId;
};

/** Records a delivery in the turn's row before it is written to the harness. Throws `conflict` if the turn has ended. */
export async function recordHandOver(tx: StoreTx, { session, turn, key, text, joined }: WrittenPrompt): Promise<void> {
  const conversation = (await tx.sessions.get(session))?.resume ?? null;
  const own: HandOver = { turn, key, print: printOf(text), conversation, ...(joined === undefined ? {} : { joined }) };
  await addHandOvers(tx, turn, [own]);
}

export async function addHandOvers(tx: StoreTx, turn: TurnId, more: readonly HandOver[]): Promise<void> {
  const before = (await tx.turns.get(turn))?.handed_over ?? [];
  await tx.turns.handOver(turn, [...before, ...more]);
}

/** Removes the record after the harness refused the message. */
export async function withdrawHandOver(tx: StoreTx, turn: TurnId, joined: MessageId): Promise<void> {
  const before = (await tx.turns.get(turn))?.handed_over ?? [];
  await tx.turns.handOver(
    turn,
    before.filter((one) => one.joined !== joined),
  );
}
