/** Introduces an agent that takes no system prompt from Aegis: once, before its first message. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { ConversationSpec, DriverEvent } from "../driver.ts";
import type { AcpRecipe } from "./recipe.ts";

const memorySchema = z.object({ introduced: z.string(), prompt: z.string() });

export type Introduction = {
  /** The blocks before the next message. */
  blocks(): { type: "text"; text: string }[];
  /** The agent has stored the message. Returns the events that record this. */
  accepted(): DriverEvent[];
};

export function introductionOf(
  recipe: AcpRecipe,
  spec: ConversationSpec,
  session: { id: string; resumed: boolean },
): Introduction {
  const memory = { introduced: session.id, prompt: digest(spec.systemPrompt) };
  const last = lastMemory(spec);
  // Send a changed system prompt again; otherwise the agent would keep acting on the old one.
  let known = session.resumed && last?.introduced === memory.introduced && last.prompt === memory.prompt;
  const told = recipe.introduction === "prompt" && spec.systemPrompt !== "";
  return {
    blocks: () => (known || !told ? [] : [{ type: "text", text: spec.systemPrompt }]),
    accepted: () => {
      if (known) return [];
      known = true;
      return [{ type: "memory", value: memory }];
    },
  };
}

/** True if the agent has stored a message of this conversation. */
export function hasHistory(spec: ConversationSpec): boolean {
  return spec.resume !== null && lastMemory(spec)?.introduced === spec.resume;
}

function lastMemory(spec: ConversationSpec): z.infer<typeof memorySchema> | null {
  return memorySchema.safeParse(spec.memory.at(-1)).data ?? null;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
