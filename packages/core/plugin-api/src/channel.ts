/** Defines a channel: a service outside Aegis through which people talk to sessions. */
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { PluginContext } from "./context.ts";
import { type Definition, define } from "./definition.ts";

/** A chat, or a thread of a chat: `room` or `room/thread`. The channel chooses the names. */
export type ChannelPlace = string;

export type ChannelAccount = {
  /** Identifies the account at the service. Positions belong to an account. */
  id: string;
  /** How people know it, such as `@my_bot`. */
  label: string;
  /** What a person should know about the account. `aegis channel test` shows it. */
  notes?: readonly string[];
  /** A link that opens a chat and sends the pairing code; `{code}` is replaced. */
  pairLink?: string;
};

export type ChannelCall = PluginContext & {
  /** Aborts when the answer is no longer needed. */
  readonly signal: AbortSignal;
};

export type ChannelSendCall = ChannelCall & {
  /** An idempotency key: a repeated delivery has the same key. */
  readonly key: string;
  /** An earlier attempt may have arrived. Show that, unless the service recognises the key. */
  readonly repeated: boolean;
};

/** `text` is Markdown, at most `longestText` characters for a text. */
export type ChannelContent = { kind: "text"; text: string } | { kind: "file"; name: string; text: string };

export type ChannelAsk = {
  /** Markdown. */
  text: string;
  /** Each choice with the data that a press sends back. Empty for a question that is answered with a reply. */
  choices: readonly { label: string; data: string }[];
  /** Set if the ask was answered: the id of the message to replace with `text`, without choices. */
  settles: string | null;
};

/** A file that a person sent. `id` is the value with which `attach` fetches it. */
export type ChannelFile = { id: string; name: string; bytes?: number | null; image?: boolean };

/** Words of someone else. The agent sees them as a quotation; they are never read as a command. */
export type ChannelQuote = { label: string; text: string };

export type ChannelInboundContent =
  | { kind: "text"; text: string; quoted?: readonly ChannelQuote[]; files?: readonly ChannelFile[] }
  | { kind: "command"; name: string; rest: string }
  /** A choice of an ask. `press` is the id that `acknowledge` gets. */
  | { kind: "press"; press: string; data: string }
  | { kind: "pair"; code: string };

export type ChannelInbound = {
  /** Unique per account, and the same when the service delivers it again. */
  key: string;
  /** Who sent it. The id must be one that the service vouches for and that people cannot choose. */
  peer: { id: string; name: string };
  place: ChannelPlace;
  /** True if other people see the place too. Default: false. */
  shared?: boolean;
  /** The id of the message that it replies to. */
  replyTo?: string | null;
  content: ChannelInboundContent;
};

export type ChannelHost = {
  /** The stored position, and when it was stored (milliseconds since 1970); null at the first start. */
  cursor(): Promise<{ position: string; at: number } | null>;
  /**
   * Stores everything in one transaction with the position. Confirm to the service only after it resolves. A key that
   * is known changes nothing. People who are not allowed are ignored.
   */
  admit(batch: readonly ChannelInbound[], position: string | null): Promise<void>;
  /** The service answered: the channel works. */
  alive(): void;
};

export type ChannelOptions = {
  /** The name in `aegis channel list` and in the settings. Default: the name of the export. */
  name?: string;
  description: string;
  /** The longest text of one message, in UTF-16 units. Longer answers are split. Default: 4000. */
  longestText?: number;
  /** The least number of seconds between two messages to one place. Default: 0. */
  pace?: number;
  /** Checks the credentials. */
  connect(call: ChannelCall): ChannelAccount | Promise<ChannelAccount>;
  /** Passes everything that arrives to the host until `call.signal` aborts. Aegis connects again if it throws. */
  receive(host: ChannelHost, call: ChannelCall): Promise<void>;
  /** Sends one text or file. Returns the id that the service gave it. */
  send(place: ChannelPlace, content: ChannelContent, call: ChannelSendCall): string | Promise<string>;
  /** Shows an ask with its choices, or replaces a shown one. Returns the id of the message. */
  ask(place: ChannelPlace, ask: ChannelAsk, call: ChannelSendCall): string | Promise<string>;
  /** Shows that the session works. */
  typing?(place: ChannelPlace, call: ChannelCall): void | Promise<void>;
  /** Fetches a file that a person sent. */
  attach?(file: ChannelFile, call: ChannelCall): Uint8Array | Promise<Uint8Array>;
  /** Opens a thread for a session. Returns its place, or null if the place cannot have threads. */
  openThread?(
    place: ChannelPlace,
    title: string,
    call: ChannelCall,
  ): ChannelPlace | null | Promise<ChannelPlace | null>;
  /** Tells a person the outcome of a press. */
  acknowledge?(press: string, text: string, call: ChannelCall): void | Promise<void>;
};

export type PluginChannel = Definition<"channel"> & { readonly options: ChannelOptions };

const texts: readonly string[] = ["name", "description"];
const required = ["connect", "receive", "send", "ask"] as const;
const optional = ["typing", "attach", "openThread", "acknowledge"] as const;
const known: readonly string[] = [...texts, "longestText", "pace", ...required, ...optional];
const namePattern = /^[a-z][a-z0-9-]{0,31}$/;

/**
 * Defines a channel: people talk to sessions through a service that the plugin connects. Aegis handles the rest: who
 * may speak, which place talks to which session, commands, asks, retries, and the durable inbox and outbox. Throws
 * `TypeError` if an option is unknown or missing.
 *
 * @example
 * ```ts
 * import { channel, parseMessage } from "aegis";
 *
 * type Note = { id: number; user: string; text: string };
 * const base = "https://chat.example.com";
 *
 * export const notes = channel({
 *   description: "The notes of our own chat server",
 *   connect: () => ({ id: "notes", label: "notes" }),
 *   async receive(host, { signal }) {
 *     while (!signal.aborted) {
 *       const after = (await host.cursor())?.position ?? "0";
 *       const batch = (await (await fetch(`${base}/notes?after=${after}`, { signal })).json()) as Note[];
 *       host.alive();
 *       const read = ({ id, user, text }: Note) =>
 *         ({ key: String(id), peer: { id: user, name: user }, place: user, content: parseMessage(text) });
 *       await host.admit(batch.map(read), String(batch.at(-1)?.id ?? after));
 *     }
 *   },
 *   async send(place, { text }, { key, signal }) {
 *     const body = JSON.stringify({ to: place, text, key });
 *     return (await fetch(`${base}/notes`, { method: "POST", body, signal })).text();
 *   },
 *   async ask(place, { text, choices }, { key, signal }) {
 *     const body = JSON.stringify({ to: place, text, choices, key });
 *     return (await fetch(`${base}/notes`, { method: "POST", body, signal })).text();
 *   },
 * });
 * ```
 */
export function channel(options: ChannelOptions): PluginChannel {
  if (typeof options !== "object" || options === null) throw new TypeError("channel() expects an object");
  const wrong = (key: string, expected: string) =>
    new TypeError(`${key} of the channel "${options.name ?? ""}" should be ${expected}`);
  for (const key of Object.keys(options))
    if (!known.includes(key))
      throw new TypeError(`the channel "${options.name ?? ""}" has no option "${key}"${didYouMean(key, known)}`);
  const { name, description, longestText, pace } = options;
  const problem = name === undefined ? null : channelNameProblem(name);
  if (problem !== null) throw new TypeError(problem);
  if (typeof description !== "string" || description.trim() === "") throw wrong("description", "a non-empty string");
  if (longestText !== undefined && !(Number.isInteger(longestText) && longestText >= 200))
    throw wrong("longestText", "a whole number of at least 200");
  if (pace !== undefined && !(pace >= 0 && pace <= 3600)) throw wrong("pace", "a number of seconds up to 3600");
  for (const method of required) if (typeof options[method] !== "function") throw wrong(method, "a function");
  for (const method of optional)
    if (options[method] !== undefined && typeof options[method] !== "function") throw wrong(method, "a function");
  return { ...define("channel"), options };
}

/** Also called where channels are registered under the name of their export. */
export function channelNameProblem(name: string): string | null {
  if (!namePattern.test(name))
    return `${JSON.stringify(name)} is not a valid channel name: expected lower-case letters, digits and -, at most 32`;
  return name === "telegram" || name === "desktop" ? `the channel name "${name}" belongs to Aegis` : null;
}

/**
 * Reads what a person typed: `/start <code>` is a pairing code, `/name …` a command, everything else a text. Do not use
 * it for forwarded or quoted text: that belongs in `quoted`.
 *
 * @example
 * ```ts
 * import { parseMessage } from "aegis";
 *
 * parseMessage("/switch lucid-knuth"); // { kind: "command", name: "switch", rest: "lucid-knuth" }
 * parseMessage("Fix the build"); // { kind: "text", text: "Fix the build" }
 * ```
 */
export function parseMessage(text: string): ChannelInboundContent {
  const [, name, rest = ""] = /^\/([a-zA-Z0-9_]{1,32})(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  if (name === undefined) return { kind: "text", text };
  const command = name.toLowerCase();
  return command === "start" && rest.trim() !== ""
    ? { kind: "pair", code: rest.trim() }
    : { kind: "command", name: command, rest };
}

/**
 * `unreachable`: try again later. `rate_limited`: wait for `retryAfter` seconds. `conflict`: another program receives the
 * messages of this account. `unauthorized`: the credentials are wrong; Aegis stops until the settings change. `blocked`:
 * the place does not accept messages now. `rejected`: this one delivery can never succeed.
 */
export type ChannelFaultKind = "unreachable" | "rate_limited" | "conflict" | "unauthorized" | "blocked" | "rejected";

/**
 * The failure of a channel, by how Aegis handles it. Any other error counts as `unreachable`. The message is shown in
 * `aegis channel list`, so it must not contain a secret.
 *
 * @example
 * ```ts
 * import { ChannelError } from "aegis";
 *
 * export function check(status: number): void {
 *   if (status === 401) throw new ChannelError("unauthorized", "the service rejects the token");
 *   if (status === 429) throw new ChannelError("rate_limited", "too many messages", { retryAfter: 30 });
 * }
 * ```
 */
export class ChannelError extends Error {
  override readonly name = "ChannelError";
  readonly kind: ChannelFaultKind;
  /** In seconds. */
  readonly retryAfter: number | null;
  /** False if the request certainly had no effect. */
  readonly mayHaveArrived: boolean;

  constructor(kind: ChannelFaultKind, message: string, more: { retryAfter?: number; mayHaveArrived?: boolean } = {}) {
    super(message);
    this.kind = kind;
    this.retryAfter = more.retryAfter ?? null;
    this.mayHaveArrived = more.mayHaveArrived ?? false;
  }
}
