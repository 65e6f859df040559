/** What a conversation remembers, and the entries from which it is built again after a restart. */
import { z } from "zod";
import type { Addition, DriverEvent, HistoryMessage } from "../driver.ts";
import { type Message, messageSchema, toolCalls, userMessage } from "./messages.ts";
import { repair } from "./repair.ts";

const entrySchema = z.discriminatedUnion("kind", [
  /** `prompt` is the key of the prompt that a user message came with. */
  z.object({ kind: z.literal("message"), message: messageSchema, prompt: z.string().exactOptional() }),
  /** A prompt together with what plugins put before it. */
  z.object({ kind: z.literal("prompt"), messages: z.array(messageSchema), prompt: z.string() }),
  /** Takes the place of everything before it. */
  z.object({ kind: z.literal("compacted"), messages: z.array(messageSchema) }),
]);
export type MemoryEntry = z.infer<typeof entrySchema>;

type MemoryEvent = Extract<DriverEvent, { type: "memory" }>;

/** The history of one conversation. Each change gives the event that makes it durable. */
export class History {
  #messages: Message[] = [];
  readonly #callIds = new Set<string>();
  readonly #prompts = new Set<string>();

  /** Takes up what an earlier process stored. Returns how many entries could not be read. */
  restore(memory: readonly unknown[]): number {
    let unreadable = 0;
    for (const value of memory) {
      const entry = entrySchema.safeParse(value);
      if (entry.success) this.#apply(entry.data);
      else unreadable += 1;
    }
    return unreadable;
  }

  add(message: Message): MemoryEvent {
    return this.#record({ kind: "message", message });
  }

  /** Adds what the user says, or nothing when a turn that was cut had already done so: it is then delivered again. */
  *addPrompt({ text, images, key }: Addition, history: readonly HistoryMessage[] = []): Generator<MemoryEvent> {
    if (this.#prompts.has(key)) return;
    const message = userMessage(text, images);
    if (history.length === 0) yield this.#record({ kind: "message", message, prompt: key });
    else yield this.#record({ kind: "prompt", messages: [...history.map(earlier), message], prompt: key });
  }

  /** Replaces all that was said so far. */
  compact(messages: readonly Message[]): MemoryEvent {
    return this.#record({ kind: "compacted", messages: [...messages] });
  }

  /** As remembered, which is not always what an API takes. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** What the model is sent. */
  forModel(): Message[] {
    return repair(this.#messages);
  }

  /** The id itself when it is new here; small servers use the same ones again in each answer. */
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

function earlier({ role, text }: HistoryMessage): Message {
  return role === "user" ? userMessage(text) : { role, content: [{ type: "text", text }] };
}
