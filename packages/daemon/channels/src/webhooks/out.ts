/**
 * Outgoing webhooks: one POST per event to an address that the user names. Each delivery has an id that stays the same
 * across retries (`webhook-id`), so that the receiver can ignore repetitions, and a signature with the time of the
 * attempt.
 */
import type { ChannelView, WebhookEvent } from "@aegis/contract/channel.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { EventOf } from "@aegis/contract/event.ts";
import { errorText } from "@aegis/lib/log.ts";
import { wasNeverSent } from "@aegis/lib/never-sent.ts";
import { FetchError, safeFetch } from "@aegis/lib/safe-fetch.ts";
import type { ChannelOutboxRow } from "@aegis/store/store.ts";
import { ChannelFault } from "../fault.ts";
import { EventFeed } from "../feed.ts";
import { ChannelHealth } from "../health.ts";
import { Outbox } from "../outbox.ts";
import { type ChannelBase, type RunningChannel, Tasks } from "../running.ts";
import { summaryOf } from "../summary.ts";
import { signature } from "./sign.ts";

type OutHook = {
  name: string;
  url: string;
  /** Signs deliveries; with the format `ntfy` it is the access token. Null only for a public ntfy topic. */
  secret: string | null;
  events: readonly WebhookEvent[];
  format: "standard" | "ntfy";
  /** Allows plain HTTP and addresses of this machine and its network. */
  allowPrivate: boolean;
};

export type OutOptions = ChannelBase & { hook: OutHook; random?: () => number };

type Body = { type: string; timestamp: string; title: string; text: string; urgent: boolean; data: unknown };

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/** The delays after each failure. After the last one the delivery is given up. */
const delays = [
  ...[5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour],
  ...[10 * hour, 14 * hour, 20 * hour, 24 * hour],
];
const jitter = 0.2;
const timeoutMs = 15_000;

export function startWebhookOut(options: OutOptions): RunningChannel {
  const { store, clock, log, hook, random = Math.random } = options;
  const channel = `out:${hook.name}`;
  const health = new ChannelHealth({ clock, log, channel });
  const { host, protocol } = new URL(hook.url);
  const fix = `check the receiver, then try again with: aegis channel test ${channel}`;
  // Known before the first delivery, which would only turn the hook off.
  if (protocol !== "https:" && !hook.allowPrivate)
    health.set("off", `${hook.url}: only https: is allowed`, privateHint(hook));
  const okDetail = () => `sends to ${host}`;
  const send = (id: string, body: Body, signal: AbortSignal) => post(hook, id, body, clock.now(), signal);
  const outbox = new Outbox({
    store,
    clock,
    log,
    channel,
    health,
    okDetail,
    fix,
    retryMs(failures) {
      const delay = delays[failures - 1];
      return delay === undefined ? null : Math.round(delay * (1 + jitter * (2 * random() - 1)));
    },
    async deliver(row: ChannelOutboxRow, { signal }) {
      await send(idOf(hook, row.key), row.body as Body, signal);
      return null;
    },
  });
  const feed = new EventFeed({
    store,
    clock,
    log,
    channel,
    types: hook.events,
    async deliveries(tx, event) {
      const { title, text, urgent, data } = await summaryOf(tx, event as EventOf<WebhookEvent>);
      const timestamp = new Date(event.at).toISOString();
      const body: Body = { type: event.type, timestamp, title, text, urgent, data };
      const key = `evt_${event.seq}`;
      // Each delivery has a place of its own: a delivery that fails does not delay the others.
      return [{ key, place: key, session: event.session, ask: null, kind: "event", body }];
    },
    added: () => outbox.wake(),
  });
  const tasks = new Tasks();
  tasks.add(async (signal) => {
    await feed.begin(signal);
    // Every event from now on is sent.
    if (health.state === "starting" && !signal.aborted) health.set("ok", okDetail());
    await feed.run(signal);
  });
  tasks.add((signal) => outbox.run(signal));
  return {
    name: channel,
    async view(): Promise<ChannelView> {
      const counts = await store.read.channels.outCounts(channel);
      return { name: channel, kind: "webhook_out", ...health.view(), ...counts, peers: [] };
    },
    async test(signal) {
      const timestamp = new Date(clock.now()).toISOString();
      const body: Body = {
        type: "channel.test",
        timestamp,
        title: "Aegis",
        text: "A test message.",
        urgent: false,
        data: {},
      };
      try {
        await send(`test_${clock.now()}_${hook.name}`, body, signal);
      } catch (error) {
        const isRefused = error instanceof RefusedAddress;
        throw new AegisError("upstream", errorText(error), isRefused ? { hint: privateHint(hook) } : {});
      }
      health.ok(okDetail());
      await outbox.hurry();
      return `${host} accepted a test message`;
    },
    pair: async () => {
      throw new AegisError("invalid", `${channel} has no people to pair with`);
    },
    unpair: async () => false,
    stop: (deadline) => tasks.stop(deadline),
  };
}

/** Aegis itself refused the address of the hook. */
class RefusedAddress extends ChannelFault {}

function privateHint({ name }: OutHook): string {
  return `use an https address of the internet, or set webhooks.out.${name}.allow_private to true`;
}

function idOf(hook: OutHook, key: string): string {
  return `${key}_${hook.name}`;
}

async function post(hook: OutHook, id: string, body: Body, now: number, signal: AbortSignal): Promise<void> {
  const { headers, bytes } = hook.format === "ntfy" ? ntfy(hook, body) : standard(hook, id, body, now);
  let answer: Awaited<ReturnType<typeof safeFetch>>;
  try {
    answer = await safeFetch(hook.url, {
      maxBytes: 0,
      timeoutMs,
      signal,
      maxRedirects: 0,
      ignoreBody: true,
      headers,
      post: bytes,
      trustedOrigins: hook.allowPrivate ? [new URL(hook.url).origin] : [],
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof FetchError && error.problem === "refused") throw new RefusedAddress("gone", error.message);
    throw new ChannelFault("unreachable", errorText(error), { mayHaveArrived: !wasNeverSent(error) });
  }
  const { status } = answer;
  if (status >= 200 && status < 300) return;
  const text = `the receiver answered with status ${status}`;
  if (status === 410) throw new ChannelFault("gone", text);
  const wait = status === 429 || status === 503 ? retryAfterMs(answer.headers["retry-after"]) : null;
  throw new ChannelFault("unreachable", text, { afterMs: wait });
}

function standard(hook: OutHook, id: string, { type, timestamp, data, text }: Body, now: number) {
  const bytes = Buffer.from(JSON.stringify({ type, timestamp, text, data }));
  const seconds = Math.floor(now / 1000);
  const headers = {
    "content-type": "application/json",
    "user-agent": "aegis",
    "webhook-id": id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": signature(hook.secret ?? "", id, seconds, bytes),
  };
  return { headers, bytes };
}

function ntfy(hook: OutHook, { title, text, urgent, type }: Body) {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "user-agent": "aegis",
    // Header values are Latin-1; ntfy decodes RFC 2047.
    title: `=?UTF-8?B?${Buffer.from(title).toString("base64")}?=`,
    priority: urgent ? "high" : "default",
    tags: type,
    ...(hook.secret === null ? {} : { authorization: `Bearer ${hook.secret}` }),
  };
  return { headers, bytes: Buffer.from(text === "" ? title : text) };
}

const longestWaitMs = 24 * hour;

function retryAfterMs(value: string | undefined): number | null {
  const seconds = Number(value);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds * 1000, longestWaitMs) : null;
}
