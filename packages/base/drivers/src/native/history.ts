/** The memory of a conversation, and the entries from which it is restored after a restart. */
import { z } from "zod";
import type { Addition, DriverEvent, HistoryMessage } from "../driver.ts";
import { messageSchema, type NativeMessage, toolCalls, userMessage } from "./messages.ts";
import { repair } from "./repair.ts";

const entrySchema = z.discriminatedUnion("kind", [
  /** `prompt` is the key of the prompt of a user message. */
  z.object({ kind: z.literal("message"), message: messageSchema, prompt: z.string().exactOptional() }),
  /** A prompt and the messages that plugins put before it. */
  z.object({ kind: z.literal("prompt"), messages: z.array(messageSchema), prompt: z.string() }),
  /** Replaces everything before it. */
  z.object({ kind: z.literal("compacted"), messages: z.array(messageSchema) }),
]);
export type MemoryEntry = z.infer<typeof entrySchema>;

type MemoryEvent = Extract<DriverEvent, { type: "memory" }>;

/** The history of one conversation. Each change returns the event that makes it durable. */
export class History {
  #messages: NativeMessage[] = [];
  readonly #callIds = new Set<string>();
  readonly #prompts = new Set<string>();

  /** Restores what an earlier process stored. Returns the number of unreadable entries. */
  restore(memory: readonly unknown[]): number {
    let unreadable = 0;
    for (const value of memory) {
      const entry = entrySchema.safeParse(value);
      if (entry.success) this.#apply(entry.data);
      else unreadable += 1;
    }
    return unreadable;
  }

  add(message: NativeMessage): MemoryEvent {
    return this.#record({ kind: "message", message });
  }

  /** Adds a prompt. Adds nothing if an interrupted turn had already added it and it is now redelivered. */
  *addPrompt({ text, images, key }: Addition, history: readonly HistoryMessage[] = []): Generator<MemoryEvent> {
    if (this.#prompts.has(key)) return;
    const message = userMessage(text, images);
    if (history.length === 0) yield this.#record({ kind: "message", message, prompt: key });
    else yield this.#record({ kind: "prompt", messages: [...history.map(earlier), message], prompt: key });
  }

  /** Whether the prompt with this key was added, even if it has been summarised since. */
  hasPrompt(key: string): boolean {
    return this.#prompts.has(key);
  }

  /** Replaces all earlier messages. */
  compact(messages: readonly NativeMessage[]): MemoryEvent {
    return this.#record({ kind: "compacted", messages: [...messages] });
  }

  /** As remembered, which model APIs do not always accept. */
  get messages(): readonly NativeMessage[] {
    return this.#messages;
  }

  /** The messages to send to the model. */
  forModel(): NativeMessage[] {
    return repair(this.#messages);
  }

  /** The id itself if it is new in this conversation; small servers reuse ids in each answer. */
  freshCallId(id: string): string {
    let fresh = id === "" ? "call" : id;
    for (let n = 2; this.#callIds.has(fresh); n++) fresh = `${id === "" ? "call" : id}_${n}`;
    this.#callIds.add(fresh);
    return fresh;
  }

  #record(entry: MemoryEntry): MemoryEvent {
    this.#apply(entry);
    return { type: "memory", value: entry };
  }

  #apply(entry: MemoryEntry): void {
    const messages = entry.kind === "message" ? [entry.message] : entry.messages;
    if (entry.kind === "compacted") this.#messages = [...messages];
    else this.#messages.push(...messages);
    if (entry.kind !== "compacted" && entry.prompt !== undefined) this.#prompts.add(entry.prompt);
    for (const message of messages) for (const call of toolCalls(message)) this.#callIds.add(call.toolCallId);
  }
}

function earlier({ role, text }: HistoryMessage): NativeMessage {
  return role === "user" ? userMessage(text) : { role, content: [{ type: "text", text }] };
}
