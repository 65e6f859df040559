/** What a fake model API needs to know of one vendor's wire format. */

/** What the model is told to answer. */
export type Reply = {
  thinking?: string;
  /** Each piece is a delta of its own. */
  text?: string | readonly string[];
  calls?: readonly FakeCall[];
  finish?: "stop" | "length" | "filter";
  /** `cost` as OpenRouter tells it. */
  usage?: { input: number; output: number; cost?: number };
  /** HTTP status and headers of a refusal. */
  status?: number;
  headers?: Record<string, string>;
  message?: string;
  /** Closes the connection: before any answer, after the pieces of text, or in the middle of the JSON behind them. */
  cut?: "at once" | "after text" | "mid JSON";
  /** Says nothing more: before any answer, or after the pieces of text. */
  hang?: "at once" | "after text";
  /** An error told inside a stream that began well, as Anthropic does when it is overloaded. */
  streamError?: { type: string; message: string };
  /** Lines that are no events, put before the answer. */
  garbage?: boolean;
};

export type FakeCall = {
  id: string;
  name: string;
  /** A string is sent as it is, also when it is not JSON. */
  input: unknown;
};

export interface Wire {
  api: "anthropic" | "openai-responses" | "openai-chat" | "google";
  /** The events of a whole answer; `text` ones first, so that a reply can stop behind them. */
  events(reply: Reply): { opening: string[]; text: string[]; rest: string[] };
  /** The body of a refusal. */
  refusal(status: number, message: string): unknown;
  /** What a request says, without the vendor's wrapping. */
  read(body: unknown): ReadRequest;
}

export type ReadRequest = {
  system: string;
  /** `user: …`, `assistant: …`, `call: name {…}`, `result: …`, in order. */
  transcript: string[];
  tools: string[];
};

export function pieces(reply: Reply): readonly string[] {
  return typeof reply.text === "string" ? [reply.text] : (reply.text ?? []);
}

export function argumentsOf(call: FakeCall): string {
  return typeof call.input === "string" ? call.input : JSON.stringify(call.input);
}

export function usageOf(reply: Reply): NonNullable<Reply["usage"]> {
  return reply.usage ?? { input: 100, output: 10 };
}
