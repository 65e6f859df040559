/** Converts Claude Code's stream to turn items. Keeps the state between messages. */
import { planeServer } from "@aegis/contract/tool-names.ts";
import type { TurnItems } from "@aegis/contract/turn.ts";
import { isObject, type JsonFields, listAt, numberAt, objectAt, oneLine, textAt } from "../cli-harness/fields.ts";
import type { Waits } from "../cli-harness/inactivity.ts";
import type { DriverEvent, TurnEnded } from "../driver.ts";
import { claudeCodeFacts } from "./facts.ts";
import { CostMeter, readResult } from "./result.ts";
import { describeCall, planOf, resultDiff } from "./tools.ts";

/** Messages that are not part of a turn. */
const quietTypes = new Set(["tool_progress", "keep_alive", "streamlined_text", "command_lifecycle"]);
const quietSubtypes = new Set([
  ...["task_progress", "task_updated", "background_tasks_changed"],
  ...["hook_started", "hook_progress", "hook_response", "session_state_changed", "files_persisted"],
]);

export class ClaudeTranslator {
  readonly #waits: Waits;
  readonly #cost: CostMeter;
  readonly #wantsPlane: boolean;
  readonly #blocks = new StreamedBlocks();
  #planeConnected = true;
  #mode: TurnItems["mode"] = { mode: null, model: null };
  #contextUsed: number | null = null;
  /** Set after a compaction until its summary arrives. */
  #compacted = false;
  #errorKind: string | null = null;
  /** Tasks that outlive the call that started them. */
  readonly #background = new Set<string>();

  constructor(options: { waits: Waits; resumed: boolean; wantsPlane: boolean }) {
    this.#waits = options.waits;
    this.#cost = new CostMeter(options.resumed);
    this.#wantsPlane = options.wantsPlane;
  }

  translate(message: JsonFields): DriverEvent[] {
    switch (message.type) {
      case "system":
        return this.#system(message);
      case "stream_event":
        return this.#stream(objectAt(message, "event"), textAt(message, "parent_tool_use_id"));
      case "assistant":
        return this.#assistant(message);
      case "user":
        return this.#user(message);
      default:
        return quietTypes.has(String(message.type)) ? [] : [raw(message)];
    }
  }

  /** The last events of the turn, and its end. */
  finish(result: JsonFields): { before: DriverEvent[]; ended: TurnEnded } {
    const before: DriverEvent[] = this.#compacted ? [this.#compaction("")] : [];
    const size = Object.values(objectAt(result, "modelUsage")).map((model) => numberAt(model, "contextWindow"));
    if (this.#contextUsed !== null) before.push({ type: "context", used: this.#contextUsed, size: size[0] ?? null });
    const ended = readResult(result, this.#errorKind, this.#cost.read(result));
    this.#contextUsed = null;
    this.#errorKind = null;
    this.#blocks.clear();
    return { before, ended };
  }

  #system(message: JsonFields): DriverEvent[] {
    const subtype = textAt(message, "subtype") ?? "";
    if (subtype === "init") {
      return [
        ...this.#modeNow(textAt(message, "permissionMode"), textAt(message, "model")),
        ...this.#planeNow(message),
      ];
    }
    if (subtype === "status") return this.#modeNow(textAt(message, "permissionMode"), null);
    if (subtype === "compact_boundary") {
      this.#compacted = true;
      return [];
    }
    if (subtype === "task_started") {
      if (message.is_backgrounded === true) this.#background.add(textAt(message, "task_id") ?? "");
      return [];
    }
    if (subtype === "task_notification") {
      const isBackground = this.#background.delete(textAt(message, "task_id") ?? "");
      return isBackground ? [notice("info", textAt(message, "summary") ?? "A background task ended.")] : [];
    }
    if (subtype === "api_retry") {
      const attempt = `attempt ${numberAt(message, "attempt") ?? "?"} of ${numberAt(message, "max_retries") ?? "?"}`;
      const status = numberAt(message, "error_status");
      const why = [textAt(message, "error"), status === null ? null : `HTTP ${status}`].filter((part) => part !== null);
      return [notice("warning", `The model did not answer (${why.join(", ")}); retrying, ${attempt}.`)];
    }
    if (subtype === "permission_denied") {
      return [notice("warning", `Claude Code refused ${textAt(message, "tool_name") ?? "a tool"} by its own rules.`)];
    }
    return quietSubtypes.has(subtype) ? [] : [raw(message)];
  }

  #modeNow(mode: string | null, model: string | null): DriverEvent[] {
    const next = { mode: mode ?? this.#mode.mode, model: model ?? this.#mode.model };
    if (next.mode === this.#mode.mode && next.model === this.#mode.model) return [];
    this.#mode = next;
    return [{ type: "mode", ...next }];
  }

  /** A refused server does not fail the session, so without this notice the agent would silently lack its peers. */
  #planeNow(init: JsonFields): DriverEvent[] {
    if (!this.#wantsPlane) return [];
    const server = listAt(init, "mcp_servers").find((entry) => textAt(entry, "name") === planeServer);
    const status = textAt(server, "status") ?? "missing";
    const connected = status === "connected" || status === "pending";
    if (connected === this.#planeConnected) return [];
    this.#planeConnected = connected;
    if (connected) return [notice("info", "The Aegis tools are available again.")];
    return [notice("error", `The Aegis tools are not available: their MCP server is "${status}" in Claude Code.`)];
  }

  #stream(event: JsonFields, parent: string | null): DriverEvent[] {
    if (parent === null) this.#countContext(event);
    const delta = this.#blocks.read(event, parent);
    // A subagent's text is not shown: its caller receives it as the result of the call.
    return delta === null || parent !== null ? [] : [delta];
  }

  #countContext(event: JsonFields): void {
    const usage =
      event.type === "message_start" ? objectAt(objectAt(event, "message"), "usage") : objectAt(event, "usage");
    if (event.type === "message_start") {
      const keys = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
      this.#contextUsed = keys.reduce((sum, key) => sum + (numberAt(usage, key) ?? 0), 0);
    } else if (event.type === "message_delta" && this.#contextUsed !== null) {
      this.#contextUsed += numberAt(usage, "output_tokens") ?? 0;
    }
  }

  #assistant(message: JsonFields): DriverEvent[] {
    const parent = textAt(message, "parent_tool_use_id");
    if (message.is_api_error_message === true) {
      // Written by the CLI in place of the model; the end of the turn reports it as its error.
      this.#errorKind = textAt(message, "error");
      return [];
    }
    const body = objectAt(message, "message");
    return listAt(body, "content").flatMap((block) => this.#block(block, textAt(body, "id") ?? "", parent));
  }

  #block(block: unknown, messageId: string, parent: string | null): DriverEvent[] {
    const id = this.#blocks.nameOf(messageId, parent);
    if (!isObject(block)) return [];
    switch (block.type) {
      case "text": {
        const text = textAt(block, "text") ?? "";
        return parent !== null || text === "" ? [] : [{ type: "text", message: id, text }];
      }
      case "thinking": {
        const text = textAt(block, "thinking") ?? "";
        return parent !== null || text === "" ? [] : [{ type: "thinking", message: id, text }];
      }
      case "tool_use":
        return this.#toolUse(block, parent);
      case "redacted_thinking":
        return [];
      default:
        return [raw(block)];
    }
  }

  #toolUse(block: JsonFields, parent: string | null): DriverEvent[] {
    const call = textAt(block, "id") ?? "";
    const name = textAt(block, "name") ?? "";
    this.#waits.begin(`tool:${call}`);
    const plan = parent === null ? planOf(name, block.input) : null;
    const event: DriverEvent = { type: "tool_call", ...describeCall(call, name, block.input, parent) };
    return plan === null ? [event] : [event, { type: "plan", ...plan }];
  }

  #user(message: JsonFields): DriverEvent[] {
    const { content } = objectAt(message, "message");
    if (typeof content === "string") {
      return this.#compacted && message.isSynthetic === true ? [this.#compaction(content)] : [];
    }
    return listAt(objectAt(message, "message"), "content").flatMap((block): DriverEvent[] => {
      if (!isObject(block) || block.type !== "tool_result") return [];
      const call = textAt(block, "tool_use_id") ?? "";
      this.#waits.end(`tool:${call}`);
      const isError = block.is_error === true;
      const diff = isError ? null : resultDiff(message.tool_use_result);
      return [{ type: "tool_result", call, output: contentText(block.content), is_error: isError, diff }];
    });
  }

  #compaction(summary: string): DriverEvent {
    this.#compacted = false;
    return { type: "compaction", summary };
  }
}

export function raw(value: unknown): DriverEvent {
  return { type: "raw", harness: claudeCodeFacts.harness, value };
}

export function notice(level: TurnItems["notice"]["level"], text: string): DriverEvent {
  return { type: "notice", level, text: oneLine(text, 1000) };
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => textAt(part, "text") ?? `[${textAt(part, "type") ?? "data"}]`).join("\n");
}

type Open = { message: string; index: number };

/**
 * Names the blocks of a model's message, so that deltas and the whole text after them have the same name. The stream
 * numbers the blocks; the whole message arrives as one event per block, before the stream closes the block.
 */
class StreamedBlocks {
  /** By the call of the subagent that writes; "" for the agent itself. */
  readonly #open = new Map<string, Open>();
  readonly #seen = new Map<string, number>();

  /** The delta in a stream event, or null. */
  read(event: JsonFields, parent: string | null): DriverEvent | null {
    const key = parent ?? "";
    switch (event.type) {
      case "message_start":
        this.#open.set(key, { message: textAt(objectAt(event, "message"), "id") ?? "", index: 0 });
        return null;
      case "content_block_start": {
        const open = this.#open.get(key);
        if (open !== undefined) open.index = numberAt(event, "index") ?? open.index;
        return null;
      }
      case "content_block_delta":
        return toDelta(objectAt(event, "delta"), nameFrom(this.#open.get(key)));
      case "message_stop":
        this.#open.delete(key);
        return null;
      default:
        return null;
    }
  }

  /** The name of the block in a whole message. Without a stream the blocks are counted. */
  nameOf(message: string, parent: string | null): string {
    const open = this.#open.get(parent ?? "");
    if (open !== undefined && open.message === message) return nameFrom(open);
    const index = this.#seen.get(message) ?? 0;
    this.#seen.set(message, index + 1);
    return nameFrom({ message, index });
  }

  clear(): void {
    this.#open.clear();
    this.#seen.clear();
  }
}

function nameFrom(open: Open | undefined): string {
  return open === undefined ? "" : `${open.message}:${open.index}`;
}

function toDelta(delta: JsonFields, message: string): DriverEvent | null {
  if (delta.type === "text_delta") return { type: "text_delta", message, text: textAt(delta, "text") ?? "" };
  if (delta.type === "thinking_delta")
    return { type: "thinking_delta", message, text: textAt(delta, "thinking") ?? "" };
  return null;
}
