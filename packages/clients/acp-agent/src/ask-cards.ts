/**
 * Shows asks to the editor and carries its answers back. Every other client shows the same asks; the first answer wins.
 * An answer is bound to the digest of the action that the editor showed.
 */
import { isAbsolute, join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import type { Ask, AskChange } from "@aegis/contract/ask.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { AskId, SessionId } from "@aegis/contract/ids.ts";
import type { PermissionOption, ToolCallContent, ToolCallUpdate } from "@agentclientprotocol/sdk/unstable";
import type { Editor } from "./editor.ts";
import { textBlock } from "./updates.ts";

export type AskCardsOptions = {
  editor: Editor;
  client: Client;
  root: string;
  /** Reports a problem to the log of the process, which is its stderr. */
  warn: (line: string) => void;
};

export class AskCards {
  readonly #options: AskCardsOptions;
  readonly #open = new Map<AskId, AbortController>();

  constructor(options: AskCardsOptions) {
    this.#options = options;
  }

  /** Shows the ask in a thread of the editor. Does nothing if it is shown already. */
  show(ask: Ask, thread: SessionId): void {
    if (this.#open.has(ask.id) || ask.status !== "open") return;
    const settled = new AbortController();
    this.#open.set(ask.id, settled);
    void this.#ask(ask, thread, settled.signal).catch((error: unknown) => {
      this.#options.warn(`the ask ${ask.id} could not be shown: ${error instanceof Error ? error.message : error}`);
    });
  }

  /** Withdraws the card: another client answered, or the ask was cancelled. */
  settle(ask: AskId): void {
    this.#open.get(ask)?.abort();
  }

  async #ask(ask: Ask, thread: SessionId, settled: AbortSignal): Promise<void> {
    const { editor, client } = this.#options;
    try {
      const answer = await this.#answer(ask, thread, settled);
      if (answer !== null) {
        const body = { ...answer, digest: ask.digest, via: editor.name };
        await client.call("answerAsk", { path: { ask: ask.id }, body });
      }
    } catch (error) {
      // A conflict is an outcome: another client was faster, or the action changed. The card shows what was decided.
      const isOutcome = settled.aborted || (isAegisError(error) && error.code === "conflict");
      if (!isOutcome) throw error;
    } finally {
      this.#open.delete(ask.id);
      await this.#close(ask, thread);
    }
  }

  async #answer(ask: Ask, thread: SessionId, settled: AbortSignal): Promise<Answer | null> {
    const { editor } = this.#options;
    if (ask.kind === "question" && editor.showsForms) {
      const text = await editor.requestAnswer(thread, ask.question, ask.options, settled);
      if (text === null) return null;
      return ask.options.includes(text) ? { choice: text } : { text };
    }
    if (ask.options.length === 0) {
      // The editor has no way to enter text for it.
      const text = `${ask.question}\n\nAnswer with: aegis answer ${ask.id}\n`;
      await editor.update(thread, {
        sessionUpdate: "agent_message_chunk",
        messageId: ask.id,
        content: textBlock(text),
      });
      return null;
    }
    const toolCall = this.#card(ask);
    const { outcome } = await editor.requestPermission(
      { sessionId: thread, toolCall, options: ask.options.map(permissionOption) },
      settled,
    );
    return outcome.outcome === "selected" ? { choice: outcome.optionId } : null;
  }

  #card(ask: Ask): ToolCallUpdate {
    const content: ToolCallContent[] = ask.changes.map((change) => this.#change(change));
    const who = ask.origin === null ? "" : `${ask.origin.handle} (${ask.origin.agent})`;
    const lines = [
      ...(who === "" ? [] : [`Asked by ${who}.`]),
      ...(ask.reason === null ? [] : [ask.reason]),
      ...(ask.cwd === null || ask.tool === null ? [] : [`Folder: ${ask.cwd}`]),
      ...(ask.omitted === 0 ? [] : [`${ask.omitted} characters of the action are not shown.`]),
    ];
    if (lines.length > 0) content.unshift({ type: "content", content: textBlock(lines.join("\n")) });
    // Clients differ in whether they show `rawInput`, and what a person approves must be readable.
    const detail = detailText(ask.detail);
    if (detail !== "" && ask.changes.length === 0) {
      content.push({ type: "content", content: textBlock(`\`\`\`\n${detail}\n\`\`\``) });
    }
    return {
      toolCallId: ask.id,
      title: ask.tool === null ? ask.question : `${ask.tool}: ${ask.question}`,
      kind: ask.changes.length > 0 ? "edit" : ask.kind === "permission" ? "execute" : "other",
      status: "pending",
      rawInput: ask.detail,
      content,
      locations: ask.changes.map(({ path }) => ({ path: this.#path(path) })),
    };
  }

  #change({ path, before, after, patch, note }: AskChange): ToolCallContent {
    if (patch === null && note === null && after !== null) {
      return { type: "diff", path: this.#path(path), oldText: before, newText: after };
    }
    const text = [`${path}${after === null && patch === null ? " (deleted)" : ""}`, note, patch ?? after];
    return { type: "content", content: textBlock(text.filter((part) => part !== null).join("\n")) };
  }

  #path(path: string): string {
    return isAbsolute(path) ? path : join(this.#options.root, path);
  }

  /** Some editors keep a card after `$/cancel_request`; the update tells every editor what was decided, and by whom. */
  async #close(ask: Ask, thread: SessionId): Promise<void> {
    const { editor, client } = this.#options;
    const { ask: now } = await client.call("getAsk", { path: { ask: ask.id } });
    if (now.status === "open" || ask.options.length === 0) return;
    const decision = now.answer?.choice ?? now.answer?.text ?? now.status;
    const by = now.settled_by === null || now.settled_by === editor.name ? "" : ` (${now.settled_by})`;
    await editor.update(thread, {
      sessionUpdate: "tool_call_update",
      toolCallId: ask.id,
      title: `${ask.question}: ${decision}${by}`,
      status: now.status === "answered" && decision !== "deny" ? "completed" : "failed",
    });
  }
}

type Answer = { choice: string } | { text: string };

const permissionKinds: Readonly<Record<string, Pick<PermissionOption, "kind" | "name">>> = {
  allow: { kind: "allow_once", name: "Allow" },
  always: { kind: "allow_always", name: "Allow for the rest of this session" },
  deny: { kind: "reject_once", name: "Deny" },
};

function permissionOption(choice: string): PermissionOption {
  return { optionId: choice, ...(permissionKinds[choice] ?? { kind: "allow_once", name: choice }) };
}

function detailText(detail: unknown): string {
  if (detail === null || detail === undefined) return "";
  return typeof detail === "string" ? detail : JSON.stringify(detail, null, 2);
}
