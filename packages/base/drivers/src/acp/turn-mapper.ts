/** Converts the updates of one prompt to turn events: live deltas, then whole texts, and tools in order. */
import type { Waits } from "../cli-harness/inactivity.ts";
import type { DriverEvent } from "../driver.ts";
import { longestText } from "../limits.ts";
import {
  applyPatch,
  blockText,
  callItem,
  hasInput,
  isFinal,
  resultItem,
  type ToolCallState,
  type ToolNaming,
} from "./tool-calls.ts";
import { type ConfigOption, type ContentBlock, type ToolCallPatch, type Update, updateSchema } from "./updates.ts";
import type { UsageMeter } from "./usage.ts";

export type TurnMapperOptions = {
  turn: string;
  harness: string;
  naming: ToolNaming;
  modeEcho: string | null;
  usage: UsageMeter;
  /** Tracks running tools: an agent that waits for a tool is not inactive. */
  waits: Waits | null;
  emit(event: DriverEvent): void;
  /** The agent has begun to answer the prompt. */
  onProgress(): void;
};

type Run = { type: "text" | "thinking"; source: string | null; message: string; text: string };
type OpenCall = { state: ToolCallState; announced: boolean };

export class TurnMapper {
  readonly #options: TurnMapperOptions;
  readonly #calls = new Map<string, OpenCall>();
  readonly #ended = new Set<string>();
  readonly #summaries = new Map<string, string>();
  readonly #inputWaiters = new Map<string, () => void>();
  #run: Run | null = null;
  #runs = 0;

  constructor(options: TurnMapperOptions) {
    this.#options = options;
  }

  update(value: unknown): void {
    const parsed = updateSchema.safeParse(value);
    if (parsed.success) this.#map(parsed.data);
    else this.#emit({ type: "raw", harness: this.#options.harness, value });
  }

  /** A tool call as a permission request shows it; some agents show its arguments nowhere else. */
  requested(patch: ToolCallPatch): ToolCallState {
    this.#options.onProgress();
    const call = this.#patch(patch);
    if (hasInput(call.state)) this.#announce(call);
    return call.state;
  }

  /** The call once its arguments are known, or as it is if `waited` resolves first. */
  async withInput(id: string, waited: Promise<void>): Promise<ToolCallState | null> {
    const call = this.#calls.get(id);
    if (call === undefined || hasInput(call.state)) return call?.state ?? null;
    const arrived = Promise.withResolvers<void>();
    this.#inputWaiters.set(id, arrived.resolve);
    await Promise.race([waited, arrived.promise]);
    this.#inputWaiters.delete(id);
    arrived.resolve();
    return this.#calls.get(id)?.state ?? call.state;
  }

  announce(id: string): void {
    const call = this.#calls.get(id);
    if (call !== undefined) this.#announce(call);
  }

  /** Ends a call that was denied: some agents never mention it again. */
  deny(id: string, reason: string): void {
    const call = this.#calls.get(id);
    if (call !== undefined) this.#end(call, { call: id, output: reason, is_error: true, diff: null });
  }

  /** Emits everything still held back; `reason` explains why open tools have no result. */
  finish(reason: string): void {
    this.#closeRun();
    for (const call of this.#calls.values())
      this.#end(call, { call: call.state.id, output: reason, is_error: true, diff: null });
  }

  #map(update: Update): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        this.#options.usage.chunk(update._meta);
        this.#message(update.content, update.messageId ?? null);
        break;
      case "agent_thought_chunk":
        this.#options.onProgress();
        this.#chunk("thinking", blockText(update.content), update.messageId ?? null);
        break;
      case "tool_call":
      case "tool_call_update":
        this.#tool(update);
        break;
      case "plan":
        this.#options.onProgress();
        this.#emit({ type: "plan", entries: update.entries.map(({ content, status }) => ({ text: content, status })) });
        break;
      case "usage_update":
        if (update.cost) this.#options.usage.sessionCost(update.cost);
        this.#emit({ type: "context", used: update.used, size: update.size ?? null });
        break;
      case "current_mode_update":
        this.#emit({ type: "mode", mode: modeName(update.currentModeId), model: null });
        break;
      case "config_option_update":
        this.#config(update.configOptions ?? []);
        break;
      case "notice":
        this.#emit({ type: "notice", level: levelOf(update.severity), text: noticeText(update) });
        break;
      case "compaction_summary_chunk": {
        const before = this.#summaries.get(update.compactionId) ?? "";
        if (before.length < longestText) this.#summaries.set(update.compactionId, before + blockText(update.content));
        break;
      }
      case "compaction_update": {
        const whole = update.summary?.map(blockText).join("") ?? this.#summaries.get(update.compactionId) ?? "";
        if (update.status === "completed") this.#emit({ type: "compaction", summary: whole });
        break;
      }
      case "user_message_chunk":
      case "available_commands_update":
        break;
      case "session_info_update":
        if (update.title) this.#emit({ type: "title", title: update.title });
        break;
    }
  }

  #message(content: ContentBlock, source: string | null): void {
    const { modeEcho, harness } = this.#options;
    const text = content.text ?? "";
    if (content.type !== "text") this.#emit({ type: "raw", harness, value: content });
    else if (modeEcho !== null && text.startsWith(modeEcho))
      this.#emit({ type: "mode", mode: text.slice(modeEcho.length).trim(), model: null });
    else {
      this.#options.onProgress();
      this.#chunk("text", text, source);
    }
  }

  #chunk(type: Run["type"], text: string, source: string | null): void {
    if (text === "") return;
    if (this.#run?.type !== type || this.#run.source !== source) this.#closeRun();
    this.#run ??= { type, source, message: `${this.#options.turn}.${this.#runs++}`, text: "" };
    // Bounds the memory of an endless answer. The recorder of the turn has received every delta.
    if (this.#run.text.length < longestText) this.#run.text += text;
    this.#emit({ type: type === "text" ? "text_delta" : "thinking_delta", message: this.#run.message, text });
  }

  #closeRun(): void {
    const run = this.#run;
    this.#run = null;
    if (run !== null) this.#emit({ type: run.type, message: run.message, text: run.text });
  }

  #tool(patch: ToolCallPatch): void {
    this.#options.onProgress();
    if (this.#ended.has(patch.toolCallId)) return;
    const call = this.#patch(patch);
    // Agents announce a call before its arguments are complete; the event waits for them or for the start of the tool.
    if (call.state.status !== "pending" || hasInput(call.state)) this.#announce(call);
    if (isFinal(call.state)) this.#end(call, resultItem(call.state));
  }

  #patch(patch: ToolCallPatch): OpenCall {
    const before = this.#calls.get(patch.toolCallId);
    const call = { state: applyPatch(before?.state, patch), announced: before?.announced ?? false };
    this.#calls.set(patch.toolCallId, call);
    this.#options.waits?.begin(patch.toolCallId);
    if (hasInput(call.state)) this.#inputWaiters.get(patch.toolCallId)?.();
    return call;
  }

  #announce(call: OpenCall): void {
    if (call.announced) return;
    call.announced = true;
    this.#closeRun();
    this.#emit({ type: "tool_call", ...callItem(call.state, this.#options.naming) });
  }

  #end(call: OpenCall, result: ReturnType<typeof resultItem>): void {
    this.#announce(call);
    this.#calls.delete(call.state.id);
    this.#ended.add(call.state.id);
    this.#options.waits?.end(call.state.id);
    this.#emit({ ...result, type: "tool_result" });
  }

  #config(options: readonly ConfigOption[]): void {
    const value = (category: string) => {
      const current = options.find((option) => option.category === category)?.currentValue;
      return typeof current === "string" ? current : null;
    };
    const [mode, model] = [value("mode"), value("model")];
    if (mode !== null || model !== null) this.#emit({ type: "mode", mode: mode && modeName(mode), model });
  }

  #emit(event: DriverEvent): void {
    this.#options.emit(event);
  }
}

function levelOf(severity: string): "info" | "warning" | "error" {
  return severity === "error" || severity === "warning" ? severity : "info";
}

function noticeText({ title, description }: { title: string; description?: string | null | undefined }): string {
  return description ? `${title}: ${description}` : title;
}

/** Mode ids are plain words, or URIs that end in one after `#`. */
function modeName(id: string): string {
  return id.slice(id.lastIndexOf("#") + 1);
}
