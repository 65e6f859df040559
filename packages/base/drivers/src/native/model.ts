/** The interface of one model call for the loop. */
import type { Usage } from "@aegis/contract/turn.ts";
import type { NativeMessage } from "./messages.ts";

export interface Model {
  /**
   * Calls the model once and yields its answer part by part, ending with `finish`. Throws `ModelFailure`, or the
   * signal's reason once it is aborted.
   */
  stream(call: ModelCall): AsyncIterable<ModelPart>;
}

export type ModelCall = {
  system: string;
  messages: readonly NativeMessage[];
  tools: readonly OfferedTool[];
  temperature: number | undefined;
  maxTokens: number | undefined;
  effort: "low" | "medium" | "high" | null;
  signal: AbortSignal;
};

type OfferedTool = { name: string; description: string; inputSchema: Record<string, unknown> };

export type VendorData = Record<string, Record<string, JsonValue>>;
type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "cut" | "other";

export type ModelPart =
  /** A piece of text or thought. `vendor` must go back with the whole block; a later one replaces an earlier one. */
  | { type: "block"; block: "text" | "thinking"; id: string; delta: string; vendor: VendorData | undefined }
  /** `problem` says why the arguments or the name are invalid. */
  | {
      type: "tool_call";
      id: string;
      name: string;
      input: unknown;
      problem: string | null;
      vendor: VendorData | undefined;
    }
  /** Progress that is not shown yet, such as the arguments of a call. */
  | { type: "progress" }
  | { type: "warning"; text: string }
  | { type: "finish"; reason: FinishReason; usage: Usage };
