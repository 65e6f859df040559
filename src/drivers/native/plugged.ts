/** Applies plugin changes to a model call: another system prompt, other messages. */
import { z } from "zod";
import type { Logger } from "../../lib/log.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { ConversationHost, ModelMessage } from "../driver.ts";
import { type Message, messageSchema } from "./messages.ts";
import { repair } from "./repair.ts";

type Request = { system: string; messages: readonly Message[] };

/** Plugins may write a plain string instead of a part. */
const pluginMessageSchema = z.union([
  messageSchema,
  z
    .object({ role: z.literal("assistant"), content: z.string() })
    .transform(({ role, content }): Message => ({ role, content: [{ type: "text", text: content }] })),
]);

export async function plugged<R extends Request>(
  request: R,
  host: ConversationHost,
  log: Logger,
  signal: AbortSignal,
): Promise<R> {
  const given = { systemPrompt: request.system, messages: request.messages };
  const changed = await untilAborted(host.beforeModel(given, signal), signal);
  if (changed === given) return request;
  return { ...request, system: changed.systemPrompt, messages: read(changed.messages, request.messages, log) };
}

/** Ignores messages that no model API accepts: the call is then sent unchanged. */
function read(given: readonly ModelMessage[], before: readonly Message[], log: Logger): readonly Message[] {
  if (given === before) return before;
  const parsed = z.array(pluginMessageSchema).safeParse(given);
  if (parsed.success) return repair(parsed.data);
  log.warn("a plugin returned messages that cannot be sent; the model gets the original ones", {
    problem: z.prettifyError(parsed.error),
  });
  return before;
}
