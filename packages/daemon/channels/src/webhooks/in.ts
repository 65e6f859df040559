/**
 * Incoming webhooks. A request is accepted if its signature is valid, and answered after the delivery is durable. A
 * repeated delivery gets the same answer and starts nothing. Every refusal looks the same to the sender.
 */
import type { ChannelView } from "@aegis/contract/channel.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Queues } from "@aegis/delegation/queues/queues.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { StoreTx } from "@aegis/store/store.ts";
import { ChannelHealth } from "../health.ts";
import { comeBack, notAccepted, type ServeHook } from "../hook-routes.ts";
import { type ReceivedItem, ReceivedItems } from "../received.ts";
import { type ChannelBase, type RunningChannel, Tasks } from "../running.ts";
import { verifyGithub, verifyStandard } from "./sign.ts";

type InHook = {
  name: string;
  secret: string;
  scheme: "standard" | "github";
  /** What a delivery starts: a new session, a message to a session, or a task. */
  target: { agent: string } | { session: string } | { queue: string };
  /** Text that precedes the content of the delivery. */
  prompt: string | null;
};

export type InOptions = ChannelBase & {
  hook: InHook;
  inbox: Inbox;
  sessions: Sessions;
  queues: Queues;
  serve: ServeHook;
  /** Resolves when work may start. Until then, deliveries are only stored. */
  started: () => Promise<void>;
};

type Delivered = { text: string; about: string };

const maxBodyBytes = 1024 * 1024;
const perMinute = 120;
const minuteMs = 60_000;

export function startWebhookIn(options: InOptions): RunningChannel {
  const { store, clock, log, hook } = options;
  const channel = `in:${hook.name}`;
  const health = new ChannelHealth({ clock, log, channel });
  const detail = `accepts signed requests at /v1/hooks/${hook.name}`;
  health.set("ok", detail);
  const received = new ReceivedItems<Delivered>({
    store,
    clock,
    log,
    channel,
    handle: (item) => start(options, channel, item),
    refused: async (_item, error) => health.set("ok", `${detail}; the last delivery was refused: ${error}`),
  });
  const limit = rateLimit(() => clock.now());
  const stopServing = options.serve(hook.name, async ({ method, headers, bytes }) => {
    if (method !== "POST") throw new AegisError("method_not_allowed", "a webhook accepts only POST");
    const body = await bytes(maxBodyBytes);
    const given = Object.fromEntries(headers);
    const key =
      hook.scheme === "github"
        ? verifyGithub(hook.secret, given, body)
        : verifyStandard(hook.secret, given, body, clock.now());
    if (key === null) {
      health.ignore();
      throw notAccepted();
    }
    // Only signed requests count, so that strangers cannot use up the limit.
    if (!limit()) return comeBack(new AegisError("too_many", "too many requests"), minuteMs / 1000);
    const payload = delivered(given, body);
    await store.transact((tx) => received.storeIn(tx, [{ key, payload }]));
    health.ok(detail);
    received.wake();
    return Response.json({ accepted: true });
  });
  const tasks = new Tasks();
  tasks.add(async (signal) => {
    await options.started();
    await received.run(signal);
  });
  return {
    name: channel,
    async view(): Promise<ChannelView> {
      return { name: channel, kind: "webhook_in", ...health.view(), waiting: 0, failed: 0, peers: [] };
    },
    async test() {
      await requireTarget(options);
      return `${detail} (scheme ${hook.scheme}); its target exists`;
    },
    pair: async () => {
      throw new AegisError("invalid", `${channel} has no people to pair with`);
    },
    unpair: async () => false,
    async stop(deadline) {
      stopServing();
      await tasks.stop(deadline);
    },
  };
}

/** Starts the work of a delivery. Its ids come from the delivery's key, so that a repetition adds nothing. */
async function start(options: InOptions, channel: string, item: ReceivedItem<Delivered>): Promise<void> {
  const { store, hook, sessions, inbox, queues } = options;
  const source = `${channel}:${item.key}`;
  const body = messageText(hook, item.payload);
  const { target } = hook;
  if ("queue" in target) {
    const id = derivedId("tsk", source);
    if ((await store.read.tasks.get(id)) === null)
      await queues.enqueue({ queue: target.queue, payload: body, id, producer: null, callback: false });
    return;
  }
  const sender = { kind: "webhook", name: hook.name } as const;
  const admit = (tx: StoreTx, session: SessionId) =>
    inbox.admitIn(tx, { id: derivedId("msg", source), session, sender, body });
  const named = "session" in target ? (await sessions.resolve(target.session)).id : null;
  const session = named ?? derivedId("ses", source);
  await store.transact(async (tx) => {
    if ("agent" in target)
      await sessions.createIn(tx, { id: session, agent: target.agent, title: `webhook ${hook.name}` });
    await admit(tx, session);
    await item.done(tx);
  });
  sessions.wake(session);
}

async function requireTarget({ hook: { target }, sessions, queues }: InOptions): Promise<void> {
  if ("queue" in target) await queues.queue(target.queue);
  else if ("session" in target) await sessions.resolve(target.session);
}

/** The content comes from outside, so it is fenced: nothing in it can end the fence. */
function messageText({ prompt, name }: InHook, { text, about }: Delivered): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const head = `A delivery of the webhook ${name}${about === "" ? "" : ` (${about})`}. Its content comes from outside:`;
  return [...(prompt === null ? [] : [prompt]), head, `${fence}\n${text}\n${fence}`].join("\n\n");
}

function delivered(headers: Record<string, string>, body: Uint8Array): Delivered {
  const text = new TextDecoder().decode(body).replaceAll("\0", "");
  const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded") ?? false;
  // GitHub can send its JSON as the field of a form.
  const payload = isForm ? new URLSearchParams(text).get("payload") : null;
  const event = headers["x-github-event"];
  const about = event !== undefined && /^[a-z_]{1,64}$/.test(event) ? `GitHub event ${event}` : "";
  return { text: payload ?? text, about };
}

/** True if another delivery may be accepted now. */
function rateLimit(now: () => number): () => boolean {
  let times: number[] = [];
  return () => {
    const from = now() - minuteMs;
    times = times.filter((at) => at > from);
    if (times.length >= perMinute) return false;
    times.push(now());
    return true;
  };
}
