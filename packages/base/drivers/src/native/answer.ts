/** Assembles the parts of one model call: what is shown, what is remembered, and which tools are called. */
import type { Usage } from "@aegis/contract/turn.ts";
import { longestText } from "../limits.ts";
import type { AssistantMessage, AssistantPart } from "./messages.ts";
import type { FinishReason, ModelPart, VendorData } from "./model.ts";

export type RequestedCall = { id: string; name: string; input: unknown; problem: string | null };

type Block =
  | { block: "text"; text: string; vendor: VendorData | undefined }
  | { block: "thinking"; text: string; vendor: VendorData | undefined };
type CallBlock = RequestedCall & { block: "call"; vendor: VendorData | undefined };

const noUsage: Usage = { input: 0, cache_read: 0, cache_write: 0, output: 0, cost: null };

export class Answer {
  readonly #blocks: (Block | CallBlock)[] = [];
  readonly #open = new Map<string, Block>();
  readonly #freshId: (id: string) => string;
  reason: FinishReason = "cut";
  usage: Usage = noUsage;

  /** `freshId` makes a call's id unique in the conversation. */
  constructor(freshId: (id: string) => string) {
    this.#freshId = freshId;
  }

  /** Adds one part and returns the text to show. */
  take(part: ModelPart): string {
    if (part.type === "tool_call") {
      const { id, name, input, problem, vendor } = part;
      this.#blocks.push({ block: "call", id: this.#freshId(id), name, input, problem, vendor });
    } else if (part.type === "finish") {
      this.reason = part.reason;
      this.usage = part.usage;
    } else if (part.type === "block") return this.#extend(part);
    return "";
  }

  /** Part of the answer has been shown or requested, so the call cannot be repeated unnoticed. */
  get begun(): boolean {
    return this.#blocks.some((block) => block.block === "call" || block.text !== "");
  }

  get text(): string {
    return this.#join("text");
  }

  get thinking(): string {
    return this.#join("thinking");
  }

  get calls(): RequestedCall[] {
    return this.#blocks.filter((block) => block.block === "call");
  }

  /** The message to remember for a complete answer. */
  message(): AssistantMessage {
    return { role: "assistant", content: this.#blocks.map(toPart) };
  }

  /**
   * The message to remember for an interrupted answer: without thoughts, which may lack their signature, and without
   * calls.
   */
  partialMessage(): AssistantMessage | null {
    return this.text === "" ? null : { role: "assistant", content: [{ type: "text", text: this.text }] };
  }

  #extend(part: Extract<ModelPart, { type: "block" }>): string {
    const key = `${part.block} ${part.id}`;
    const open = this.#open.get(key);
    const block: Block = open ?? { block: part.block, text: "", vendor: undefined };
    const separator = block.text === "" && part.delta !== "" && this.#join(part.block) !== "" ? blockSeparator : "";
    if (open === undefined) {
      this.#open.set(key, block);
      this.#blocks.push(block);
    }
    // Only the beginning of an endless answer is remembered; all of it is still shown.
    if (block.text.length < longestText) block.text += part.delta;
    if (part.vendor !== undefined) block.vendor = part.vendor;
    return separator + part.delta;
  }

  #join(kind: "text" | "thinking"): string {
    const texts = this.#blocks.filter((block): block is Block => block.block === kind && block.text !== "");
    return texts.map((block) => block.text).join(blockSeparator);
  }
}

const blockSeparator = "\n\n";

function toPart(block: Block | CallBlock): AssistantPart {
  const vendor = block.vendor === undefined ? {} : { providerOptions: block.vendor };
  if (block.block === "text") return { type: "text", text: block.text, ...vendor };
  if (block.block === "thinking") return { type: "reasoning", text: block.text, ...vendor };
  // Arguments that were not JSON cannot be sent back as JSON; the error result quotes them.
  const input = typeof block.input === "object" && block.input !== null ? block.input : {};
  return { type: "tool-call", toolCallId: block.id, toolName: block.name, input, ...vendor };
}
