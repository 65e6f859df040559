/** Every wire the native driver speaks. */
import { anthropicWire } from "./anthropic.ts";
import { googleWire } from "./google.ts";
import { openaiChatWire } from "./openai-chat.ts";
import { openaiResponsesWire } from "./openai-responses.ts";
import type { Wire } from "./wire.ts";

export const wires: readonly Wire[] = [anthropicWire, openaiResponsesWire, openaiChatWire, googleWire];
