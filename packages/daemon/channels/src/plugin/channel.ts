/** A channel whose code runs in the worker of a plugin. Everything that comes from there is validated. */

import { channelAccountSchema, inboundBatchSchema } from "@aegis/contract/channel-message.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { plainMessage } from "@aegis/lib/issue-words.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import type { WorkerChannel } from "@aegis/plugins/contribute.ts";
import type { AskCard, Channel, ChannelAccount, ChannelHost, ChannelText, Content, SendOptions } from "../channel.ts";
import { ChannelFault, type FaultKind } from "../fault.ts";
import { splitMarkdown } from "../split.ts";

const connectMs = 30_000;
const sendMs = 60_000;
const typingMs = 5_000;
/** While it receives, the worker has to prove this often that it is not stuck. */
const checkMs = 60_000;
const longestId = 256;

const faultKinds: ReadonlySet<string> = new Set<FaultKind>([
  ...(["unreachable", "rate_limited", "conflict", "unauthorized", "blocked", "rejected"] as const),
]);

/** A plugin may put a secret into the message of an error; `redact` removes it. */
export function createPluginChannel(remote: WorkerChannel, clock: Clock, redact: Redact): Channel {
  type Options = { timeoutMs: number | null; signal: AbortSignal };
  const call = async (method: Parameters<WorkerChannel["call"]>[0], args: unknown[], options: Options & Serving) => {
    const reply = await remote.call(method, args, options).catch((error: unknown) => {
      options.signal.throwIfAborted();
      throw new ChannelFault("unreachable", redact(errorText(error)), { mayHaveArrived: true });
    });
    if (reply.ok) return reply.value;
    options.signal.throwIfAborted();
    const kind = (faultKinds.has(reply.kind) ? reply.kind : "unreachable") as FaultKind;
    const { afterMs, mayHaveArrived } = reply;
    throw new ChannelFault(kind, `${remote.name}: ${redact(reply.message)}`, { afterMs, mayHaveArrived });
  };
  const has = (ability: string) => remote.abilities.includes(ability);
  const text = async (method: "send" | "ask", args: unknown[], signal: AbortSignal): Promise<string> => {
    const sent = await call(method, args, { timeoutMs: sendMs, signal });
    if (typeof sent === "string" && sent.length <= longestId) return sent;
    // It was sent; only replies to it cannot be recognised.
    return typeof sent === "number" ? String(sent) : "";
  };
  return {
    async connect(signal): Promise<ChannelAccount> {
      const value = await call("connect", [], { timeoutMs: connectMs, signal });
      const { pairLink, ...account } = parsed(channelAccountSchema, value, "connect()");
      return { ...account, pairLink: (code) => pairLink?.replaceAll("{code}", code) ?? null };
    },
    async receive(host, signal) {
      const end = new AbortController();
      const over = AbortSignal.any([signal, end.signal]);
      const checked = checkWorker(call, clock, over);
      try {
        const serve = (method: string, args: readonly unknown[]) => serveHost(host, method, args);
        const received = call("receive", [], { timeoutMs: null, signal: over, serve, background: true });
        await Promise.race([received, checked]);
      } finally {
        end.abort();
      }
      signal.throwIfAborted();
      throw new ChannelFault("unreachable", `receive() of the channel ${remote.name} returned`);
    },
    send: (place, content, how) => text("send", [place, plainContent(content), about(how)], how.signal),
    ask: (place, card, how) => text("ask", [place, plainCard(card, how.settles), about(how)], how.signal),
    async typing(place, signal) {
      if (has("typing")) await call("typing", [place], { timeoutMs: typingMs, signal });
    },
    async attach(file, signal) {
      if (!has("attach")) throw new ChannelFault("rejected", `the channel ${remote.name} cannot fetch files`);
      const data = await call("attach", [file], { timeoutMs: sendMs, signal });
      return Buffer.from(String(data), "base64");
    },
    async openThread(place, title, signal) {
      if (!has("openThread")) return null;
      const thread = await call("openThread", [place, title], { timeoutMs: connectMs, signal });
      return typeof thread === "string" && thread !== "" && thread.length <= longestId ? thread : null;
    },
    async acknowledge(press, outcome, signal) {
      if (has("acknowledge")) await call("acknowledge", [press, outcome], { timeoutMs: typingMs, signal });
    },
    preview: null,
    format: (markdown) =>
      splitMarkdown(markdown, remote.longestText).map((part): ChannelText => ({ text: part, marks: [] })),
    paceMs: () => remote.paceMs,
    chatOf: (place) => place.split("/", 1)[0] ?? place,
  };
}

type Serving = { serve?: (method: string, args: readonly unknown[]) => Promise<unknown>; background?: boolean };
type Call = (method: "check", args: [], options: { timeoutMs: number; signal: AbortSignal }) => Promise<unknown>;

/** Rejects when the worker gives no answer. A stuck worker is ended by the call that it does not answer. */
async function checkWorker(call: Call, clock: Clock, signal: AbortSignal): Promise<never> {
  while (true) {
    await clock.sleep(checkMs, signal);
    await call("check", [], { timeoutMs: connectMs, signal });
  }
}

async function serveHost(host: ChannelHost, method: string, args: readonly unknown[]): Promise<unknown> {
  if (method === "cursor") return host.cursor();
  if (method === "alive") return host.alive();
  if (method !== "admit") throw new AegisError("invalid", `the host of a channel has no method "${method}"`);
  const [batch, position] = args;
  if (position !== null && (typeof position !== "string" || position.length > longestId))
    throw new AegisError("invalid", `the position should be null or a text of at most ${longestId} characters`);
  return host.admit(parsed(inboundBatchSchema, batch, "admit()"), position);
}

type Schema<T> = {
  safeParse(
    value: unknown,
  ):
    | { success: true; data: T }
    | { success: false; error: { issues: readonly { path: readonly PropertyKey[]; message: string }[] } };
};

function parsed<T>(schema: Schema<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const at = issue === undefined || issue.path.length === 0 ? "" : ` at ${issue.path.map(String).join(".")}`;
  throw new AegisError("invalid", `${what} got an invalid value${at}: ${plainMessage(issue?.message ?? "")}`);
}

function about({ key, repeated }: SendOptions): { key: string; repeated: boolean } {
  return { key, repeated };
}

function plainContent(content: Content) {
  return content.kind === "text" ? { kind: "text", text: content.part.text } : content;
}

function plainCard({ part, choices }: AskCard, settles: string | null) {
  return { text: part.text, choices, settles };
}
