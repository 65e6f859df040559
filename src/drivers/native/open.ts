/** Opens a conversation of the native agent: its model, its tools, its system prompt and its memory. */
import { type Conversation, type ConversationSpec, DriverError } from "../driver.ts";
import { contextSize } from "./context-size.ts";
import { NativeConversation } from "./conversation.ts";
import { detectNativeModel } from "./detect.ts";
import type { NativeDriverDeps } from "./driver.ts";
import { History } from "./history.ts";
import { resolveModel } from "./models.ts";
import { parseOptions } from "./options.ts";
import { buildSystemPrompt } from "./prompt.ts";
import { openModel } from "./sdk.ts";
import { judgeCoreTools } from "./tool-access.ts";
import { coreTools } from "./tools/core-tools.ts";

export async function openConversation(
  deps: NativeDriverDeps,
  spec: ConversationSpec,
  scope: AsyncDisposableStack,
): Promise<Conversation> {
  const options = parseOptions(spec.agent);
  const modelId = spec.agent.model ?? (await chooseModel(deps));
  const target = resolveModel(modelId, deps.models, deps.env);
  const tools = judgeCoreTools(spec.agent, coreTools());
  const [model, system] = await Promise.all([
    openModel(target, deps.clock),
    systemPrompt(
      spec,
      deps,
      modelId,
      tools.offered.map((tool) => tool.name),
    ),
  ]);
  const conversation = new NativeConversation({
    spec,
    deps,
    model,
    modelId,
    options,
    contextSize: contextSize(target.model, options.context_size),
    system,
    history: restoreHistory(spec, deps),
    coreTools: tools,
  });
  scope.defer(() => conversation.close());
  return conversation;
}

async function chooseModel(deps: NativeDriverDeps): Promise<string> {
  const found = await detectNativeModel(deps.env, globalThis.fetch, AbortSignal.timeout(1000));
  if (found !== null) return found.model;
  throw new DriverError({
    code: "not_logged_in",
    message: "The agent names no model, and none was found: no provider's key is set and no Ollama server answers.",
    fix: "Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or start Ollama.",
  });
}

function systemPrompt(
  { cwd, systemPrompt }: ConversationSpec,
  { clock }: NativeDriverDeps,
  model: string,
  tools: string[],
): Promise<string> {
  return buildSystemPrompt({ cwd, systemPrompt, now: clock.now(), platform: process.platform, model, tools });
}

function restoreHistory(spec: ConversationSpec, { log }: NativeDriverDeps): History {
  const history = new History();
  const unreadable = history.restore(spec.memory);
  if (unreadable > 0)
    log.error("some memory entries cannot be read", { session: spec.session.id, entries: unreadable });
  return history;
}
