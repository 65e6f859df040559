/**
 * The only file that uses the model library. It is loaded when the first native agent starts, so that a daemon without
 * one stays small. One `streamText` call is one model call: the library's tool loop, retries and output are off.
 */

import { readFile } from "node:fs/promises";
import type { Usage } from "@aegis/contract/turn.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText } from "@aegis/lib/log.ts";
import type {
  APICallError,
  Instructions,
  LanguageModel,
  LanguageModelUsage,
  ModelMessage,
  TextStreamPart,
  ToolSet,
} from "ai";
import { retryAfter } from "./backoff.ts";
import { ModelFailure, type RawFailure, toModelFailure } from "./failures.ts";
import type { NativeMessage } from "./messages.ts";
import type { FinishReason, Model, ModelCall, ModelPart, VendorData } from "./model.ts";
import type { ModelTarget } from "./models.ts";

type Sdk = typeof import("ai");

export async function openModel(target: ModelTarget, clock: Clock): Promise<Model> {
  const [sdk, model] = await Promise.all([import("ai"), connect(target)]);
  // The library writes warnings to stderr unless this is set; they come as `warning` parts instead.
  globalThis.AI_SDK_LOG_WARNINGS = false;
  return { stream: (call) => stream(sdk, model, target, call, clock) };
}

async function connect(target: ModelTarget): Promise<LanguageModel> {
  const { baseUrl: baseURL, model, provider: name } = target;
  // Never undefined: the library would then look for a key in the process environment.
  const apiKey = target.key ?? "none";
  if (target.api === "anthropic") {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic({ baseURL, apiKey })(model);
  }
  if (target.api === "openai-responses") {
    const { createOpenAI } = await import("@ai-sdk/openai");
    return createOpenAI({ baseURL, apiKey }).responses(model);
  }
  if (target.api === "google") {
    const { createGoogle } = await import("@ai-sdk/google");
    return createGoogle({ baseURL, apiKey })(model);
  }
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const key = target.key;
  return createOpenAICompatible({ name, baseURL, includeUsage: true, ...(key === null ? {} : { apiKey: key }) })(model);
}

async function* stream(
  sdk: Sdk,
  model: LanguageModel,
  target: ModelTarget,
  call: ModelCall,
  clock: Clock,
): AsyncGenerator<ModelPart> {
  const result = sdk.streamText({
    model,
    ...prompt(target, call, await withPictures(call.messages)),
    tools: toolSet(sdk, call),
    maxRetries: 0,
    abortSignal: call.signal,
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...(call.maxTokens === undefined ? {} : { maxOutputTokens: call.maxTokens }),
    ...(call.effort === null ? {} : { reasoning: call.effort }),
    // Nothing of the conversation is stored on the server, so it can be resumed from our own memory alone.
    providerOptions: { openai: { store: false } },
    // The default writes to the console; the error also comes as a part.
    onError: () => undefined,
  });
  try {
    for await (const part of result.stream) {
      const translated = translate(sdk, part, target, clock);
      if (translated !== null) yield translated;
    }
    // An aborted stream ends without an error.
    call.signal.throwIfAborted();
  } catch (error) {
    call.signal.throwIfAborted();
    throw error instanceof ModelFailure ? error : failure(sdk, error, target, clock);
  }
}

/** An image whose file is missing is replaced by a text, so that the rest of the conversation is still sent. */
async function withPictures(messages: readonly NativeMessage[]): Promise<ModelMessage[]> {
  return Promise.all(
    messages.map(async (message): Promise<ModelMessage> => {
      if (message.role !== "user" || message.images === undefined) return message;
      const parts = message.images.map(async ({ path, media_type: mediaType }) => {
        const data = await readFile(path).catch(() => null);
        return data === null
          ? { type: "text" as const, text: "[an image that no longer exists]" }
          : { type: "file" as const, mediaType, data };
      });
      return { role: "user", content: [...(await Promise.all(parts)), { type: "text", text: message.content }] };
    }),
  );
}

/** Anthropic caches the unchanged beginning of a conversation only where it is marked. */
function prompt(
  target: ModelTarget,
  { system }: ModelCall,
  messages: readonly ModelMessage[],
): { instructions: Instructions; messages: ModelMessage[] } {
  if (target.api !== "anthropic") return { instructions: system, messages: [...messages] };
  const providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
  const last = messages.at(-1);
  return {
    instructions: { role: "system", content: system, providerOptions },
    messages: last === undefined ? [] : [...messages.slice(0, -1), { ...last, providerOptions }],
  };
}

/**
 * Without `execute`, so that the library returns the calls; without validation, because the loop validates them itself.
 */
function toolSet(sdk: Sdk, call: ModelCall): ToolSet {
  const tools: ToolSet = {};
  for (const { name, description, inputSchema } of call.tools)
    tools[name] = sdk.tool({ description, inputSchema: sdk.jsonSchema(inputSchema) });
  return tools;
}

function translate(sdk: Sdk, part: TextStreamPart<ToolSet>, target: ModelTarget, clock: Clock): ModelPart | null {
  switch (part.type) {
    case "text-start":
    case "text-end":
      return { type: "block", block: "text", id: part.id, delta: "", vendor: vendor(part.providerMetadata) };
    case "text-delta":
      return { type: "block", block: "text", id: part.id, delta: part.text, vendor: vendor(part.providerMetadata) };
    case "reasoning-start":
    case "reasoning-end":
      return { type: "block", block: "thinking", id: part.id, delta: "", vendor: vendor(part.providerMetadata) };
    case "reasoning-delta":
      return { type: "block", block: "thinking", id: part.id, delta: part.text, vendor: vendor(part.providerMetadata) };
    case "tool-call": {
      const problem = part.invalid === true ? errorText(part.error) : null;
      const { toolCallId: id, toolName: name, input } = part;
      return { type: "tool_call", id, name, input, problem, vendor: vendor(part.providerMetadata) };
    }
    case "start-step":
      return part.warnings.length === 0 ? null : { type: "warning", text: JSON.stringify(part.warnings) };
    case "finish-step":
      return { type: "finish", reason: finishReason(part.finishReason), usage: usage(part.usage, target) };
    case "error":
      throw failure(sdk, part.error, target, clock);
    case "tool-input-start":
    case "tool-input-delta":
    case "ping":
      return { type: "progress" };
    default:
      return null;
  }
}

function finishReason(reason: string): FinishReason {
  if (reason === "interrupted") return "cut";
  if (reason === "stop" || reason === "tool-calls" || reason === "length" || reason === "content-filter") return reason;
  return "other";
}

function usage(counted: LanguageModelUsage, target: ModelTarget): Usage {
  const { noCacheTokens, cacheReadTokens, cacheWriteTokens } = counted.inputTokenDetails;
  const cache_read = cacheReadTokens ?? 0;
  const cache_write = cacheWriteTokens ?? 0;
  const input = noCacheTokens ?? Math.max(0, (counted.inputTokens ?? 0) - cache_read - cache_write);
  return { input, cache_read, cache_write, output: counted.outputTokens ?? 0, cost: cost(counted, target) };
}

/** OpenRouter reports US dollars. */
function cost({ raw }: LanguageModelUsage, { costs }: ModelTarget): number | null {
  if (costs === "nothing") return 0;
  return costs === "told" && typeof raw?.cost === "number" ? raw.cost : null;
}

/** Converted through JSON because it is stored: the library leaves `undefined` in it. */
function vendor(metadata: unknown): VendorData | undefined {
  return metadata === undefined ? undefined : (JSON.parse(JSON.stringify(metadata)) as VendorData);
}

function failure(sdk: Sdk, error: unknown, target: ModelTarget, clock: Clock): ModelFailure {
  if (sdk.APICallError.isInstance(error)) return toModelFailure(fromApiCall(error, clock), target);
  const fields = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  const raw: RawFailure = {
    message: errorText(error),
    status: typeof fields.statusCode === "number" ? fields.statusCode : null,
    body: "",
    type: typeof fields.type === "string" ? fields.type : null,
    retryAfterMs: null,
    network: typeof fields.type !== "string",
  };
  return toModelFailure(raw, target);
}

function fromApiCall(error: APICallError, clock: Clock): RawFailure {
  return {
    message: error.message,
    status: error.statusCode ?? null,
    body: error.responseBody ?? "",
    type: null,
    retryAfterMs: retryAfter(error.responseHeaders, clock.now()),
    // A stream that breaks after a successful start carries the status of that start.
    network: error.statusCode === undefined || error.statusCode < 400,
  };
}
