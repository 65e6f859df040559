/**
 * The port of channels through which people talk to sessions. A channel speaks the protocol of one service; the host
 * (`conversation/`) owns everything else: who may speak, which place talks to which session, commands, asks, the
 * durable inbox and outbox, and retries. Slack or Discord is another implementation of this port.
 *
 * Methods that talk to the service throw `ChannelFault`. Faults and logs contain no secret.
 */

/** A chat, or a thread of a chat: `7` or `7/12`. The channel chooses the form; the host compares it. */
export type ChatPlace = string;

export type ChannelAccount = {
  /** Identifies the account of the service, not the configuration: positions belong to an account. */
  id: string;
  /** How people know it, such as `@my_bot`. */
  label: string;
  /** What a person should know about the account, for `aegis channel test`. */
  notes: readonly string[];
  /** Opens a chat that sends the code, if the service has such links. */
  pairLink: (code: string) => string | null;
};

export interface Channel {
  /** Checks the credentials. */
  connect(signal: AbortSignal): Promise<ChannelAccount>;
  /** Passes everything that arrives to the host, until the signal aborts. */
  receive(host: ChannelHost, signal: AbortSignal): Promise<void>;
  /** Sends one part of a text, or a file. Resolves with the id that the service gave it. */
  send(place: ChatPlace, content: Content, options: SendOptions): Promise<string>;
  /** Shows an ask with its choices, or replaces a shown ask (`settles`) by its outcome, without choices. */
  ask(place: ChatPlace, card: AskCard, options: SendOptions & { settles: string | null }): Promise<string>;
  /** Shows that the session works. Lossy: it may do nothing. */
  typing(place: ChatPlace, signal: AbortSignal): Promise<void>;
  /** Fetches an attachment that a person sent. */
  attach(file: FileRef, signal: AbortSignal): Promise<Uint8Array>;
  /** Opens a thread for a session. Resolves with null if the place cannot have threads. */
  openThread(place: ChatPlace, title: string, signal: AbortSignal): Promise<ChatPlace | null>;
  /** Tells a person the outcome of a press. Lossy. */
  acknowledge(press: string, text: string, signal: AbortSignal): Promise<void>;
  /** Shows an answer while it is written; null if the channel cannot. */
  readonly preview: Preview | null;
  /** Splits Markdown into parts that the service accepts. */
  format(markdown: string): ChannelText[];
  /** The least time between two messages to the chat of a place; its threads share it. */
  paceMs(place: ChatPlace): number;
  /** The chat of a place, without its thread. */
  chatOf(place: ChatPlace): ChatPlace;
}

/** A message that grows by edits until the answer itself is sent. Lossy. */
export type Preview = {
  /** The time between two changes. */
  everyMs(place: ChatPlace): number;
  /** Shows the text, in place of the message `shown`. Resolves with the id of the message. */
  show(place: ChatPlace, part: ChannelText, shown: string | null, signal: AbortSignal): Promise<string>;
  remove(place: ChatPlace, id: string, signal: AbortSignal): Promise<void>;
};

export type SendOptions = {
  /** An idempotency key: a repeated delivery has the same key. */
  key: string;
  /** An earlier attempt may have arrived. The channel shows that, unless the service recognises repetitions. */
  repeated: boolean;
  signal: AbortSignal;
};

/** Text in the form of the channel. Only the channel looks into `marks`. */
export type ChannelText = { text: string; marks: readonly unknown[] };
export type Content = { kind: "text"; part: ChannelText } | { kind: "file"; name: string; text: string };

export type AskCard = {
  part: ChannelText;
  /** Empty for a question that is answered with text. */
  choices: readonly { label: string; data: string }[];
  /** True if the answer is a reply with text. */
  reply: boolean;
};

export interface ChannelHost {
  /** The position after which to continue, and when it was stored. */
  cursor(): Promise<{ position: string; at: number } | null>;
  /** Stores everything in one transaction with the position. A known key changes nothing. */
  admit(batch: readonly Inbound[], position: string | null): Promise<void>;
  /** The service answered. */
  alive(): void;
}

export type Inbound = {
  /** Unique per account, and the same when the service delivers it again. */
  key: string;
  peer: { id: string; name: string };
  place: ChatPlace;
  /** True if other people see the place too. */
  shared: boolean;
  /** The id of the message that it replies to. */
  replyTo: string | null;
  content: InboundContent;
};

export type InboundContent =
  | { kind: "text"; text: string; quoted: readonly QuotedText[]; files: readonly FileRef[] }
  | { kind: "command"; name: string; rest: string }
  | { kind: "press"; press: string; data: string }
  | { kind: "pair"; code: string };

/** Words of someone else. They are shown to the agent as a quotation and never read as a command. */
export type QuotedText = { label: string; text: string };

export type FileRef = { id: string; name: string; bytes: number | null; image: boolean };
