/** Maps the events of a session to ACP session updates. Pure; keeps only what is needed to say nothing twice. */
import { isAbsolute, join } from "node:path";
import type { Event, EventOf, LiveDelta } from "@aegis/contract/event.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { ContentBlock, SessionUpdate, ToolCall, ToolCallContent } from "@agentclientprotocol/sdk/unstable";

export type NoticeLevel = "info" | "warning" | "error";

export type MapperOptions = {
  /** The project's folder. ACP wants absolute paths. */
  root: string;
  /** The client shows notices. Otherwise warnings and errors are sent as thoughts. */
  notices: boolean;
  /** The cost of the turns before the first mapped event, in US dollars. */
  cost: number | null;
};

export const textBlock = (text: string): ContentBlock => ({ type: "text", text });

export class UpdateMapper {
  readonly #options: MapperOptions;
  /** How many characters of each text the editor already has. */
  readonly #sent = new Map<string, number>();
  #cost: number | null;
  #context: { used: number; size: number } | null = null;

  constructor(options: MapperOptions) {
    this.#options = options;
    this.#cost = options.cost;
  }

  /** A piece of streamed text, unless it leaves a gap: the event with the whole text fills gaps. */
  delta({ type, message, offset, text }: LiveDelta): SessionUpdate | null {
    const key = `${type}:${message}`;
    if (offset !== (this.#sent.get(key) ?? 0)) return null;
    this.#sent.set(key, offset + text.length);
    return { sessionUpdate: chunkKinds[type], messageId: message, content: textBlock(text) };
  }

  /** `own`: the editor itself sent the message, so it is on its screen. */
  event(event: Event, own: (message: string) => boolean): SessionUpdate[] {
    switch (event.type) {
      case "message.admitted":
        return own(event.data.message.id) ? [] : [userChunk(event.data)];
      case "turn.text":
        return this.#rest("text", event.data);
      case "turn.thinking":
        return this.#rest("thinking", event.data);
      case "turn.plan":
        return [{ sessionUpdate: "plan", entries: event.data.entries.map(planEntry) }];
      case "turn.tool_call":
        return [{ sessionUpdate: "tool_call", status: "in_progress", ...this.#call(event.data) }];
      case "turn.tool_result":
        return [{ sessionUpdate: "tool_call_update", toolCallId: event.data.call, ...this.#result(event.data) }];
      case "turn.context":
        if (event.data.size === null) return [];
        this.#context = { used: event.data.used, size: event.data.size };
        return this.#usage();
      case "turn.ended":
        if (typeof event.data.usage?.cost !== "number") return [];
        this.#cost = (this.#cost ?? 0) + event.data.usage.cost;
        return this.#usage();
      case "session.titled":
        return [{ sessionUpdate: "session_info_update", title: event.data.title }];
      case "session.notice":
      case "turn.notice":
        return this.notice(`notice-${event.seq}`, event.data.level, event.data.text);
      case "turn.compaction":
        return this.notice(`notice-${event.seq}`, "info", "The harness compacted the conversation.");
      case "session.memory_lost":
        return this.notice(`notice-${event.seq}`, "warning", "The agent does not remember earlier messages.");
      case "subagent.spawned":
        return [spawned(event.data)];
      case "subagent.ended":
        return [ended(event.data)];
      default:
        return [];
    }
  }

  /** The whole history. Each tool call is one update with its final status. */
  replay(events: readonly Event[]): SessionUpdate[] {
    const results = new Map<string, EventOf<"turn.tool_result">["data"]>();
    for (const event of events) if (event.type === "turn.tool_result") results.set(event.data.call, event.data);
    const called = new Set<string>();
    return events.flatMap((event) => {
      if (event.type === "turn.tool_call") called.add(event.data.call);
      const result = event.type === "turn.tool_call" ? results.get(event.data.call) : undefined;
      if (event.type === "turn.tool_result" && called.has(event.data.call)) return [];
      // What happened to the connection or the context long ago is of no use now.
      if (event.type === "turn.notice" || event.type === "session.notice" || event.type === "turn.context") {
        if (event.type === "turn.context") this.event(event, () => false);
        return [];
      }
      const updates = this.event(event, () => false);
      if (event.type !== "turn.tool_call" || result === undefined) return updates;
      return [{ sessionUpdate: "tool_call" as const, ...this.#call(event.data), ...this.#result(result) }];
    });
  }

  /** A line for the person that is not part of the answer. */
  notice(id: string, level: NoticeLevel, text: string): SessionUpdate[] {
    if (this.#options.notices) return [{ sessionUpdate: "notice", severity: level, title: text }];
    if (level === "info") return [];
    return [{ sessionUpdate: "agent_thought_chunk", messageId: id, content: textBlock(`${text}\n`) }];
  }

  #rest(type: "text" | "thinking", { message, text }: { message: string; text: string }): SessionUpdate[] {
    const key = `${type}:${message}`;
    const rest = text.slice(this.#sent.get(key) ?? 0);
    this.#sent.set(key, text.length);
    return rest === "" ? [] : [{ sessionUpdate: chunkKinds[type], messageId: message, content: textBlock(rest) }];
  }

  #call({ call, name, kind, title, input, locations, diff }: EventOf<"turn.tool_call">["data"]): ToolCall {
    return {
      toolCallId: call,
      title: title === "" ? name : title,
      name,
      kind,
      rawInput: input,
      locations: locations.map(({ path, line }) => ({
        path: this.#path(path),
        ...(line === undefined ? {} : { line }),
      })),
      ...(diff === null ? {} : { content: [this.#diff(diff)] }),
    };
  }

  #result({ output, is_error, diff }: EventOf<"turn.tool_result">["data"]) {
    const content: ToolCallContent[] = output === "" ? [] : [{ type: "content", content: textBlock(output) }];
    if (diff !== null) content.push(this.#diff(diff));
    return {
      status: is_error ? ("failed" as const) : ("completed" as const),
      // A result without text of its own must not remove the diff that the call showed.
      ...(content.length === 0 ? {} : { content }),
    };
  }

  #diff({ path, before, after }: { path: string; before: string | null; after: string }): ToolCallContent {
    return { type: "diff", path: this.#path(path), oldText: before, newText: after };
  }

  #path(path: string): string {
    return isAbsolute(path) ? path : join(this.#options.root, path);
  }

  #usage(): SessionUpdate[] {
    if (this.#context === null) return [];
    const cost = this.#cost === null ? {} : { cost: { amount: this.#cost, currency: "USD" } };
    return [{ sessionUpdate: "usage_update", ...this.#context, ...cost }];
  }
}

const chunkKinds = { text: "agent_message_chunk", thinking: "agent_thought_chunk" } as const;

function userChunk({ message }: EventOf<"message.admitted">["data"]): SessionUpdate {
  const origin = originOf(message.sender);
  const head = origin === null ? "" : `> from ${origin}\n\n`;
  return { sessionUpdate: "user_message_chunk", messageId: message.id, content: textBlock(head + message.body) };
}

/** How the text names a sender that is not the person. */
function originOf(sender: Sender): string | null {
  switch (sender.kind) {
    case "human":
      return null;
    case "agent":
      return `agent:${sender.handle}`;
    case "queue":
    case "workflow":
    case "schedule":
    case "client":
    case "channel":
      return `${sender.kind}:${sender.name}`;
    case "group":
      return `group:${sender.group}`;
    default:
      return sender.kind;
  }
}

function planEntry({ text, status }: EventOf<"turn.plan">["data"]["entries"][number]) {
  // ACP requires a priority; harnesses report none that Aegis keeps.
  return { content: text, status, priority: "medium" as const };
}

function spawned({ subagent }: EventOf<"subagent.spawned">["data"]): SessionUpdate {
  const { run_id, label, agent } = subagent;
  const title = `Subagent ${label === "" ? run_id : label} (${agent})`;
  return { sessionUpdate: "tool_call", toolCallId: `subagent-${run_id}`, title, kind: "think", status: "in_progress" };
}

function ended({ run_id, status, result, error }: EventOf<"subagent.ended">["data"]): SessionUpdate {
  const text = result ?? error ?? status;
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: `subagent-${run_id}`,
    status: status === "done" ? "completed" : "failed",
    content: [{ type: "content", content: textBlock(text) }],
  };
}
