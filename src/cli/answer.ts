/** Sends a message and stays until it is answered: shows the turn, passes Ctrl-C on, keeps a deadline. */
import type { Client } from "../client/client.ts";
import { type Followed, followEvents } from "../client/events.ts";
import { type Outcome, waitForMessage } from "../client/wait.ts";
import type { Event } from "../contract/event.ts";
import { type MessageId, newId } from "../contract/ids.ts";
import type { Receipt } from "../contract/message.ts";
import type { SessionView } from "../contract/session.ts";
import type { TurnError, TurnReason, Usage } from "../contract/turn.ts";
import { exitCodes } from "./context.ts";
import { endWords } from "./format/event-line.ts";
import { createStyle } from "./format/style.ts";
import { plainText } from "./format/text.ts";
import { duration } from "./format/time.ts";
import { readImages } from "./images.ts";
import type { Terminal } from "./terminal.ts";
import { TurnPrinter } from "./turn-printer.ts";

/** What becomes of a turn under way: the message waits for its end, joins it, or cuts it. */
export type DeliveryMode = "queue" | "steer" | "interrupt";

export type Question = {
  session: SessionView;
  text: string;
  /** Chosen by the caller so that a repeated request adds nothing. */
  id: MessageId | undefined;
  mode: DeliveryMode;
  /** Files the agent sees with the text. */
  images: readonly string[];
  timeoutMs: number | undefined;
  onReceipt?: (receipt: Receipt) => void;
};

/** What `run` and `send --wait` print with `--json`, and what decides their exit code. */
export type Answer = {
  session: string;
  handle: string;
  reason: TurnReason;
  text: string;
  usage: Usage | null;
  error: TurnError | null;
};

/** The answer, and whether the person asked for its end. */
export async function askAndWait(
  cx: Terminal,
  client: Client,
  question: Question,
): Promise<{ answer: Answer; stopped: boolean }> {
  const { session, timeoutMs } = question;
  const id = question.id ?? newId("msg", Date.now());
  const printer = new TurnPrinter({ text: cx.write, aside: cx.warn }, createStyle(cx.color), id);
  let place: Pick<SessionView, "id" | "handle"> = session;
  const cut = () => client.call("interruptSession", { path: { session: place.id } }).catch(() => {});
  const onReceipt = (receipt: Receipt) => {
    question.onReceipt?.(receipt);
    if (receipt.session === session.id) return;
    place = { id: receipt.session, handle: receipt.handle };
    if (question.onReceipt === undefined) cx.warn(createStyle(cx.color).dim(receipt.text));
  };
  let stopped = false;
  let timedOut = false;
  const undo = cx.onStop(() => {
    if (stopped) cx.leave(exitCodes.interrupted);
    stopped = true;
    if (cx.interactive) cx.warn("interrupting the turn; press Ctrl-C again to leave at once");
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
    const outcome = await sendAndWatch(client, { ...question, id, onReceipt }, (item) => {
      if (!cx.json) printer.show(item);
    });
    printer.finish();
    const answer = toAnswer(place, outcome);
    if (timedOut && answer.reason !== "completed") {
      answer.error = { code: "timeout", message: `no answer within ${duration(timeoutMs ?? 0)}` };
    }
    return { answer, stopped };
  } finally {
    clearTimeout(timer);
    undo();
  }
}

/** Prints how it ended and gives the exit code. */
export function reportAnswer(cx: Terminal, { answer, stopped }: { answer: Answer; stopped: boolean }): number {
  if (cx.json) cx.printJson(answer);
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
  question: Question & { id: MessageId },
  onItem: (item: Followed) => void,
): Promise<Outcome> {
  const { session, id } = question;
  const attachments = await readImages(question.images);
  const { last_seq: after } = await client.call("listEvents", { query: { limit: 1 } });
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
  const watched = watch(noticing, { session, id, after, signal: leaving.signal }, onItem);
  try {
    // What is written before the stream is open would be missed.
    await Promise.race([connected.promise, watched]);
    const { receipt } = await client.call("sendMessage", {
      path: { session: session.id },
      body: { id, text: question.text, mode: question.mode, attachments },
    });
    question.onReceipt?.(receipt);
    // A skill may be for another agent: then that agent's session has the message, and is the one to watch.
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
  onItem: (item: Followed) => void,
): Promise<Outcome> {
  const { session, id, after, signal } = options;
  for await (const item of followEvents(client, { after, session: session.id, live: true, signal })) {
    onItem(item);
    if (item.kind !== "event" || !mayEnd(item.event)) continue;
    const { message } = await client.call("getMessage", { path: { message: id } });
    if (message.status !== "pending" && message.status !== "dispatched") return waitForMessage(client, id, session.id);
  }
  throw signal.reason;
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
  const message = `the message was ${outcome.status === "cancelled" ? "taken back" : outcome.status}`;
  return { ...base, reason: outcome.status, text: "", usage: null, error: { code: "internal", message } };
}
