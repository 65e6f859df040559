/** Converts Codex's messages about a thread to turn items. Keeps the state between messages. */
import { planeServer } from "@aegis/contract/tool-names.ts";
import type { TurnError, TurnItems, Usage } from "@aegis/contract/turn.ts";
import { isObject, type JsonFields, listAt, numberAt, objectAt, oneLine, textAt } from "../cli-harness/fields.ts";
import type { Waits } from "../cli-harness/inactivity.ts";
import type { DriverEvent, TurnEnded } from "../driver.ts";
import { codexFacts } from "./facts.ts";
import { callsOf, resultsOf } from "./items.ts";

/** Notifications that are not part of a turn. */
const quiet = new Set([
  ...["thread/started", "thread/status/changed", "thread/readState/changed", "thread/closed"],
  ...["thread/goal/cleared", "thread/goal/updated", "thread/queue/changed", "thread/prediction/updated"],
  ...["thread/settings/updated", "thread/compacted", "turn/started", "turn/completed", "turn/diff/updated"],
  ...["item/commandExecution/outputDelta", "item/commandExecution/terminalInteraction", "item/fileChange/outputDelta"],
  ...["item/fileChange/patchUpdated", "item/mcpToolCall/progress", "item/reasoning/summaryPartAdded"],
  ...["serverRequest/resolved", "hook/started", "hook/completed", "rawResponse/completed", "rawResponseItem/completed"],
]);
const quietItems = new Set(["userMessage", "hookPrompt", "functionCallOutput", "sleep", "subAgentActivity"]);

export class CodexTranslator {
  readonly #waits: Waits;
  readonly #usage = new TurnUsage();
  readonly #called = new Set<string>();
  #model: string | null = null;

  constructor(waits: Waits) {
    this.#waits = waits;
  }

  /** `parent` is the call that started the subagent of this thread; null for the agent's own thread. */
  translate(method: string, params: JsonFields, parent: string | null): DriverEvent[] {
    if (parent !== null && !method.startsWith("item/")) return [];
    switch (method) {
      case "item/started":
        return this.#itemStarted(objectAt(params, "item"), parent);
      case "item/completed":
        return this.#itemCompleted(objectAt(params, "item"), parent);
      case "item/agentMessage/delta":
      case "item/plan/delta":
        return parent === null ? [{ type: "text_delta", message: idOf(params), text: deltaOf(params) }] : [];
      case "item/reasoning/summaryTextDelta":
        return this.#thinkingDelta(params, `s${numberAt(params, "summaryIndex") ?? 0}`, parent);
      case "item/reasoning/textDelta":
        return this.#thinkingDelta(params, `c${numberAt(params, "contentIndex") ?? 0}`, parent);
      case "thread/tokenUsage/updated":
        this.#usage.update(objectAt(params, "tokenUsage"));
        return [];
      case "turn/plan/updated":
        return [{ type: "plan", entries: listAt(params, "plan").map(planEntry) }];
      case "thread/name/updated":
        return titled(textAt(params, "threadName"));
      case "model/rerouted":
        return this.modelNow(textAt(params, "toModel"));
      case "mcpServer/startupStatus/updated":
        return planeStatus(params);
      case "error":
        return retryNotice(params);
      case "warning":
      case "guardianWarning":
      case "deprecationNotice":
        return [notice("warning", textAt(params, "message") ?? textAt(params, "summary") ?? method)];
      default:
        return quiet.has(method) ? [] : [raw({ method, params })];
    }
  }

  modelNow(model: string | null): DriverEvent[] {
    if (model === null || model === "" || model === this.#model) return [];
    this.#model = model;
    return [{ type: "mode", mode: null, model }];
  }

  /** The last events of the turn, and its end. */
  finish(turn: JsonFields): { before: DriverEvent[]; ended: TurnEnded } {
    this.#called.clear();
    const context = this.#usage.context();
    const before: DriverEvent[] = context === null ? [] : [{ type: "context", ...context }];
    return { before, ended: { type: "turn.ended", ...outcomeOf(turn), usage: this.#usage.take() } };
  }

  #itemStarted(item: JsonFields, parent: string | null): DriverEvent[] {
    return (callsOf(item, parent) ?? []).map((call) => {
      this.#called.add(call.call);
      this.#waits.begin(`tool:${call.call}`);
      return { type: "tool_call", ...call };
    });
  }

  /** A call that ends immediately is reported only by its end. */
  #missedStart(item: JsonFields, parent: string | null): DriverEvent[] {
    return this.#called.has(textAt(item, "id") ?? "") ? [] : this.#itemStarted(item, parent);
  }

  #itemCompleted(item: JsonFields, parent: string | null): DriverEvent[] {
    if (callsOf(item, parent) !== null) {
      const missed = this.#missedStart(item, parent);
      const results = resultsOf(item);
      for (const { call } of results) this.#waits.end(`tool:${call}`);
      return [...missed, ...results.map((result) => ({ type: "tool_result" as const, ...result }))];
    }
    if (parent !== null || quietItems.has(String(item.type))) return [];
    const id = textAt(item, "id") ?? "";
    switch (item.type) {
      case "agentMessage":
      case "plan": {
        const text = textAt(item, "text") ?? "";
        return text === "" ? [] : [{ type: "text", message: id, text }];
      }
      case "reasoning":
        return [...thoughts(item, "summary", `${id}:s`), ...thoughts(item, "content", `${id}:c`)];
      case "contextCompaction":
        return [{ type: "compaction", summary: "" }];
      default:
        return [raw(item)];
    }
  }

  #thinkingDelta(params: JsonFields, part: string, parent: string | null): DriverEvent[] {
    if (parent !== null) return [];
    return [{ type: "thinking_delta", message: `${idOf(params)}:${part}`, text: deltaOf(params) }];
  }
}

function titled(title: string | null): DriverEvent[] {
  return title === null || title === "" ? [] : [{ type: "title", title }];
}

function raw(value: unknown): DriverEvent {
  return { type: "raw", harness: codexFacts.harness, value };
}

export function notice(level: TurnItems["notice"]["level"], text: string): DriverEvent {
  return { type: "notice", level, text: oneLine(text, 1000) };
}

function outcomeOf(turn: JsonFields): Pick<TurnEnded, "reason" | "error"> {
  if (turn.status === "interrupted") return { reason: "cancelled", error: null };
  if (turn.status === "failed") return failureOf(turn.error);
  return { reason: "completed", error: null };
}

function thoughts(item: JsonFields, key: string, prefix: string): DriverEvent[] {
  return listAt(item, key).flatMap((text, index): DriverEvent[] =>
    typeof text === "string" && text !== "" ? [{ type: "thinking", message: `${prefix}${index}`, text }] : [],
  );
}

function planEntry(step: unknown): TurnItems["plan"]["entries"][number] {
  const status = textAt(step, "status");
  return {
    text: textAt(step, "step") ?? "",
    status: status === "inProgress" ? "in_progress" : status === "completed" ? "completed" : "pending",
  };
}

/** A refused server does not fail the thread, so without this notice the agent would silently lack its peers. */
function planeStatus(params: JsonFields): DriverEvent[] {
  if (params.name !== planeServer || (params.status !== "failed" && params.status !== "cancelled")) return [];
  // Codex puts names of its own types in brackets.
  const error = (textAt(params, "error") ?? String(params.status)).replace(/\[[\w:<>, ]+\]/g, "");
  const why = oneLine(error, 300);
  return [notice("error", `The Aegis tools are not available: their MCP server did not start in Codex. ${why}`)];
}

/** An error that ends the turn is reported again with its end. */
function retryNotice(params: JsonFields): DriverEvent[] {
  if (params.willRetry !== true) return [];
  const { error } = failureOf(params.error);
  return [notice("warning", `The model did not answer; Codex retries. ${error?.message ?? ""}`)];
}

function idOf(params: JsonFields): string {
  return textAt(params, "itemId") ?? "";
}

function deltaOf(params: JsonFields): string {
  return textAt(params, "delta") ?? "";
}

type Counts = { input: number; cached: number; written: number; output: number };

/** The usage of a turn. Codex counts over the whole thread, so a turn is the difference from its start. */
class TurnUsage {
  /** Null until the thread's first count is known: a resumed thread starts with its earlier usage. */
  #before: Counts | null = null;
  #now: Counts | null = null;
  #context: TurnItems["context"] | null = null;

  update(usage: JsonFields): void {
    const total = readCounts(objectAt(usage, "total"));
    this.#before ??= minus(total, readCounts(objectAt(usage, "last")));
    this.#now = total;
    const used = numberAt(objectAt(usage, "last"), "totalTokens");
    if (used !== null) this.#context = { used, size: numberAt(usage, "modelContextWindow") };
  }

  context(): TurnItems["context"] | null {
    return this.#context;
  }

  /** The turn's usage; the next turn counts from here. Null if the model was not called. */
  take(): Usage | null {
    const [before, now] = [this.#before, this.#now];
    this.#context = null;
    if (before === null || now === null) return null;
    this.#before = now;
    this.#now = null;
    const { input, cached, written, output } = minus(now, before);
    // Codex also counts cached tokens as input.
    return { input: input - cached - written, cache_read: cached, cache_write: written, output, cost: null };
  }
}

function readCounts(counts: JsonFields): Counts {
  return {
    input: numberAt(counts, "inputTokens") ?? 0,
    cached: numberAt(counts, "cachedInputTokens") ?? 0,
    written: numberAt(counts, "cacheWriteInputTokens") ?? 0,
    output: numberAt(counts, "outputTokens") ?? 0,
  };
}

function minus(a: Counts, b: Counts): Counts {
  return {
    input: a.input - b.input,
    cached: a.cached - b.cached,
    written: a.written - b.written,
    output: a.output - b.output,
  };
}

/** Maps Codex's error codes to the error of a turn. */
export function failureOf(error: unknown): Pick<TurnEnded, "reason" | "error"> {
  const { code, status } = readInfo(objectAt({ error }, "error").codexErrorInfo);
  const message = messageOf(error);
  if (code === "cyberPolicy" || code === "misalignmentPolicyViolation") {
    return { reason: "refused", error: { code: "blocked", message } };
  }
  return { reason: "failed", error: classify(code, status, message) };
}

function classify(code: string, status: number | null, message: string): TurnError {
  if (code === "unauthorized" || status === 401 || status === 403) {
    return { code: "not_logged_in", message, fix: "Run `codex login`, or check the key of your model provider." };
  }
  if (
    code === "modelNotFound" ||
    status === 404 ||
    /model .*(not (found|exist|supported)|does not exist)/i.test(message)
  ) {
    return { code: "bad_model", message, fix: "Set `model` of the agent to one that your account can use." };
  }
  if (code === "usageLimitExceeded" || code === "rateLimitExceeded" || status === 429) {
    return { code: "rate_limited", message };
  }
  if (code === "serverOverloaded" || code === "flexUnavailable" || status === 503 || status === 529) {
    return { code: "overloaded", message };
  }
  if (code === "contextWindowExceeded") {
    return { code: "context_overflow", message, fix: "Start a new session." };
  }
  const [, unset] = /Missing environment variable: `?(\w+)/.exec(message) ?? [];
  if (unset !== undefined) {
    return {
      code: "not_logged_in",
      message,
      fix: `Agents do not receive the daemon's environment: set ${unset} in the agent's \`env\`.`,
    };
  }
  return { code: "model", message };
}

/** Either a code, or an object with one code and the status of the HTTP response. */
function readInfo(info: unknown): { code: string; status: number | null } {
  if (typeof info === "string") return { code: info, status: null };
  if (!isObject(info)) return { code: "", status: null };
  const [code = "", detail] = Object.entries(info)[0] ?? [];
  return { code, status: numberAt(detail, "httpStatusCode") };
}

/** A refusal of the model API arrives as its JSON body. */
function messageOf(error: unknown): string {
  const message = textAt(error, "message") ?? "Codex ended the turn with an error.";
  const details = textAt(error, "additionalDetails");
  try {
    const inner = textAt(objectAt(JSON.parse(message), "error"), "message");
    if (inner !== null) return inner;
  } catch {
    // Not JSON: the message is already readable.
  }
  return details === null ? message : `${message} (${details})`;
}
