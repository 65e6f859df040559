/** Sends a message and waits for the answer: shows the turn, forwards Ctrl-C, and enforces a timeout. */

import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { type FollowedItem, followEvents } from "@aegis/client/events.ts";
import { turnOf } from "@aegis/client/turn-of.ts";
import { followWhileOpen, waitForMessage } from "@aegis/client/wait.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { type MessageId, newId, type SessionId, type TurnId } from "@aegis/contract/ids.ts";
import type { Receipt } from "@aegis/contract/message.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Turn, TurnError, TurnReason, Usage } from "@aegis/contract/turn.ts";
import { errorText } from "@aegis/lib/log.ts";
import { endWords } from "../../format/event-line.ts";
import { plainText } from "../../format/text.ts";
import { duration } from "../../format/time.ts";
import { usageError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { TurnPrinter } from "../../turn-printer.ts";
import { answerAsk } from "../ask/find-ask.ts";

/** What happens to the current turn: the message waits for its end (`queue`), joins it (`steer`) or interrupts it. */
type DeliveryMode = "queue" | "steer" | "interrupt";

export type Question = {
  session: SessionView;
  text: string;
  /** Chosen by the caller, so that a repeated request is idempotent. */
  id: MessageId | undefined;
  mode: DeliveryMode;
  /** Paths of image files sent with the text. */
  images: readonly string[];
  timeoutMs: number | undefined;
  /** Deny what the turn asks, and wait for no other ask. */
  noAsk?: boolean;
  onReceipt?: (receipt: Receipt) => void;
};

/** What `run` and `send --wait` print with `--json`. It decides their exit code. */
export type Answer = {
  session: SessionId;
  handle: string;
  reason: TurnReason;
  text: string;
  usage: Usage | null;
  error: TurnError | null;
};

type TurnEnd = Pick<Turn, "reason" | "text" | "usage" | "error">;

/** How the message ended. `turn` is null if it needed no turn. */
type Outcome = { status: "answered"; turn: TurnEnd | null } | { status: "cancelled" | "lost" | "refused" };

/** The answer, and whether the user interrupted it. */
export async function askAndWait(
  cx: Terminal,
  client: Client,
  question: Question,
): Promise<{ answer: Answer; stopped: boolean }> {
  const { session, timeoutMs } = question;
  const id = question.id ?? newId("msg", Date.now());
  const printer = new TurnPrinter({ text: cx.write, aside: cx.warn }, cx.style, id);
  let place: Pick<SessionView, "id" | "handle"> = session;
  const asks = new WaitingAsks({ client, printer, message: id, place: () => place, noAsk: question.noAsk ?? false });
  const cut = () => client.call("interruptSession", { path: { session: place.id } }).catch(() => {});
  const onReceipt = (receipt: Receipt) => {
    question.onReceipt?.(receipt);
    const isHere = receipt.session === session.id;
    if (!isHere) place = { id: receipt.session, handle: receipt.handle };
    // Without the list, the command only says less.
    void asks.showEarlier().catch(() => {});
    if (!isHere && question.onReceipt === undefined) cx.warn(cx.style.dim(receipt.text));
  };
  const left = new AbortController();
  let stopped = false;
  let timedOut = false;
  let shownUpTo = 0;
  const undo = cx.onStop(() => {
    if (stopped) cx.leave(exitCodes.interrupted);
    stopped = true;
    if (cx.interactive) cx.warn("interrupting the turn; press Ctrl-C again to exit immediately");
    void cut();
  });
  const timer = setTimeout(
    () => {
      timedOut = true;
      void cut();
    },
    timeoutMs ?? 2 ** 31 - 1,
  );
  try {
    const { signal } = left;
    const onStart = (after: number) => void asks.followOthers(after, signal);
    const answered = sendAndWatch(client, { ...question, id, onReceipt, onStart, signal }, (item) => {
      asks.take(item);
      // Asks go to standard error with --json too: otherwise the command would wait without a word.
      if (cx.json || isAboutAsk(item)) return;
      printer.show(item);
      if (item.kind === "event") shownUpTo = item.event.seq;
    });
    answered.catch(() => {});
    const outcome = await Promise.race([answered, asks.blocked]);
    printer.finish();
    if (shownUpTo > 0) await markSeen(client, place.id, shownUpTo);
    const answer = toAnswer(place, outcome);
    if (timedOut && answer.reason !== "completed") {
      answer.error = { code: "timeout", message: `no answer within ${duration(timeoutMs ?? 0)}` };
    }
    return { answer, stopped };
  } finally {
    left.abort();
    clearTimeout(timer);
    undo();
  }
}

/** The person has read the answer. If the request fails, the session only counts as unread for longer. */
async function markSeen(client: Client, session: SessionId, seq: number): Promise<void> {
  await client.call("markSeen", { path: { session }, body: { seq } }).catch(() => {});
}

function isAboutAsk(item: FollowedItem): boolean {
  return item.kind === "event" && (item.event.type === "ask.opened" || item.event.type === "ask.settled");
}

/** Prints how the turn ended, adds `more` to the JSON output, and returns the exit code. */
export function reportAnswer(
  cx: Terminal,
  { answer, stopped }: { answer: Answer; stopped: boolean },
  more: Readonly<Record<string, unknown>> = {},
): number {
  if (cx.json) cx.printJson({ ...answer, ...more });
  if (answer.reason === "completed") return exitCodes.ok;
  const { error } = answer;
  cx.warn(`aegis: ${endWords(answer.reason, error)}${error === null ? "" : ` (${error.code})`}`);
  if (error?.fix !== undefined) cx.warn(`  ${error.fix}`);
  if (error?.stderr !== undefined && error.stderr.trim() !== "") {
    for (const line of plainText(error.stderr).trimEnd().split("\n")) cx.warn(`  | ${line}`);
  }
  return stopped ? exitCodes.interrupted : exitCodes.failed;
}

async function sendAndWatch(
  client: Client,
  question: Question & { id: MessageId; onStart: (after: number) => void; signal: AbortSignal },
  onItem: (item: FollowedItem) => void,
): Promise<Outcome> {
  const { session, id } = question;
  const attachments = await readImages(question.images);
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 } });
  question.onStart(after);
  const connected = Promise.withResolvers<void>();
  const noticing: Client = {
    ...client,
    open: async (...request) => {
      const response = await client.open(...request);
      connected.resolve();
      return response;
    },
  };
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, question.signal]);
  const watched = watch(noticing, { session, id, after, signal }, onItem);
  try {
    // Wait for the stream: events written before it is open would be missed.
    await Promise.race([connected.promise, watched]);
    const { receipt } = await client.call("sendMessage", {
      path: { session: session.id },
      body: { id, text: question.text, mode: question.mode, attachments },
    });
    question.onReceipt?.(receipt);
    // A skill may route the message to another agent. Then watch the session that received it.
    if (receipt.session !== session.id)
      return await waitForMessage(client, id, receipt.session, { after, live: true, onEvent: onItem });
    // An earlier request with this id may have been answered before the stream began.
    if (receipt.duplicate) return await waitForMessage(client, id, session.id);
    return await watched;
  } finally {
    leaving.abort();
    await watched.catch(() => {});
  }
}

async function watch(
  client: Client,
  options: { session: SessionView; id: MessageId; after: number; signal: AbortSignal },
  onItem: (item: FollowedItem) => void,
): Promise<Outcome> {
  const { session, id, after, signal } = options;
  let shownUpTo = after;
  let turn: TurnId | null = null;
  for await (const item of followWhileOpen(client, id, { after, session: session.id, live: true, signal })) {
    onItem(item);
    if (item.kind !== "event") continue;
    const { event } = item;
    shownUpTo = event.seq;
    turn = turnOf(event, id) ?? turn;
    if (event.type === "turn.ended" && event.data.turn === turn && !isLost(event.data))
      return { status: "answered", turn: event.data };
    if (!mayEnd(event)) continue;
    const { message } = await client.call("getMessage", { path: { message: id } });
    if (message.status !== "pending" && message.status !== "dispatched") break;
  }
  if (signal.aborted) throw signal.reason;
  // Also shows what has not come through the stream: a message may have been answered while the stream was broken.
  return waitForMessage(client, id, session.id, { after: shownUpTo, onEvent: onItem, signal });
}

/** Another turn may still answer the messages of a lost turn. */
function isLost({ reason, error }: TurnEnd): boolean {
  return reason === "lost" || error?.code === "lost";
}

function mayEnd(event: Event): boolean {
  return ["turn.ended", "message.cancelled", "message.lost", "session.closed"].includes(event.type);
}

function toAnswer(session: Pick<SessionView, "id" | "handle">, outcome: Outcome): Answer {
  const base = { session: session.id, handle: session.handle };
  if (outcome.status === "answered") {
    const { turn } = outcome;
    return {
      ...base,
      reason: turn?.reason ?? "completed",
      text: turn?.text ?? "",
      usage: turn?.usage ?? null,
      error: turn?.error ?? null,
    };
  }
  const message = `the message was ${outcome.status}`;
  return { ...base, reason: outcome.status, text: "", usage: null, error: { code: "internal", message } };
}

type WaitingAsksOptions = {
  client: Client;
  printer: TurnPrinter;
  message: MessageId;
  /** The session that has the message. */
  place: () => Pick<SessionView, "id" | "handle">;
  /** Deny what the turn of the message asks, and wait for no other ask. */
  noAsk: boolean;
};

/** What to do about asks of the session whose answer is awaited, and of those that work for it. */
class WaitingAsks {
  readonly #options: WaitingAsksOptions;
  readonly #blocked = Promise.withResolvers<never>();
  readonly #seen = new Set<string>();
  /** Whether the current turn of the session answers the message. */
  #isOurTurn = false;

  constructor(options: WaitingAsksOptions) {
    this.#options = options;
    this.#blocked.promise.catch(() => {});
  }

  /** Rejects with `conflict` when only a person could continue, and the caller does not want to wait for one. */
  get blocked(): Promise<never> {
    return this.#blocked.promise;
  }

  take(item: FollowedItem): void {
    if (item.kind !== "event") return;
    const { event } = item;
    if (event.type === "turn.started") this.#isOurTurn = event.data.messages.includes(this.#options.message);
    else if (event.type === "ask.opened") this.#opened(event.data.ask);
    else if (event.type === "ask.settled") this.#options.printer.show(item);
  }

  /** Shows asks that were opened before: the message waits behind them. */
  async showEarlier(): Promise<void> {
    const { asks } = await this.#options.client.call("listAsks", {});
    for (const ask of asks) if (ask.status === "open" && (this.#isOwn(ask) || this.#isBelow(ask))) this.#opened(ask);
  }

  /** Shows asks of subagents, and of sessions with a task or a run of this session. Never throws. */
  async followOthers(after: number, signal: AbortSignal): Promise<void> {
    try {
      for await (const item of followEvents(this.#options.client, { after, signal, reached: true })) {
        if (item.kind !== "event" || item.event.session === this.#options.place().id) continue;
        const { event } = item;
        if (event.type === "ask.opened" && this.#isBelow(event.data.ask)) this.#opened(event.data.ask);
        if (event.type === "ask.settled" && this.#seen.has(event.data.ask)) this.#options.printer.show(item);
      }
    } catch {
      // The stream of the session itself decides how the command ends.
    }
  }

  #isOwn(ask: Ask): boolean {
    return ask.session === this.#options.place().id;
  }

  #isBelow({ origin }: Ask): boolean {
    const { id, handle } = this.#options.place();
    return (
      origin !== null && (origin.parents.some(({ session }) => session === id) || origin.requesters.includes(handle))
    );
  }

  #opened(ask: Ask): void {
    if (this.#seen.has(ask.id)) return;
    this.#seen.add(ask.id);
    const { printer, noAsk, client, message } = this.#options;
    printer.ask(ask, Date.now());
    if (!noAsk) return;
    if (this.#isOurTurn && this.#isOwn(ask) && ask.options.includes("deny")) {
      answerAsk(client, ask, "deny", "cli").catch((error: unknown) => this.#blocked.reject(error));
      return;
    }
    const who = ask.origin?.handle ?? "the session";
    const error = new AegisError("conflict", `${who} waits for a person to answer ${ask.id}`, {
      hint: `aegis ask show ${ask.id} shows it; the message ${message} is kept`,
    });
    this.#blocked.reject(error);
  }
}

/** Image files from the command line, for a request. */
export async function readImages(files: readonly string[]): Promise<{ name: string; data: string }[]> {
  return Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(file).catch((error: unknown) => {
        throw usageError(`the image ${file} cannot be read: ${errorText(error)}`);
      });
      return { name: basename(file), data: bytes.toString("base64") };
    }),
  );
}
