/** One row of a transcript. */

import { diffOfTool, type Row, type RowOf } from "@aegis/client/model/row.ts";
import { senderName } from "@aegis/client/views/words.ts";
import type { Message } from "@aegis/contract/message.ts";
import { link } from "../app/router.ts";
import { now } from "../app/store.ts";
import { clock, count, duration, money, oneLine, visible } from "../model/format.ts";
import { Diffstat } from "./facts.tsx";
import { Icon } from "./icon.tsx";
import { LazyDiff } from "./lazy-diff.tsx";
import { Markdown } from "./markdown.tsx";
import { MessageImage } from "./message-image.tsx";

export function TranscriptRow({ row, session }: { row: Row; session: string }) {
  const { body } = row;
  switch (body.kind) {
    case "message":
      return <MessageRow message={body.message} />;
    case "turn":
      return <TurnHeader row={row as RowOf<"turn">} session={session} />;
    case "text":
      return <Markdown text={body.parts.join("")} live={body.live} />;
    case "thinking":
      return (
        <details class="fold thinking" open={body.live}>
          <summary>
            <Icon name="think" /> Thinking
          </summary>
          <Markdown text={body.parts.join("")} live={body.live} />
        </details>
      );
    case "tool":
      return <ToolCall row={row as RowOf<"tool">} />;
    case "plan":
      return (
        <ul class="plan">
          {body.entries.map((entry, index) => (
            <li key={index} class={entry.status}>
              <span aria-hidden="true">{planMarks[entry.status]}</span> {visible(entry.text)}
              <span class="unseen"> ({entry.status})</span>
            </li>
          ))}
        </ul>
      );
    case "notice":
      return <p class={`row-notice ${levelClass[body.level]}`}>{visible(body.text)}</p>;
    case "end":
      return <TurnEnd row={row as RowOf<"end">} />;
    case "compaction":
      return (
        <details class="fold">
          <summary>The conversation was summarised</summary>
          <Markdown text={body.summary} />
        </details>
      );
  }
}

const planMarks = { pending: "○", in_progress: "◐", completed: "●" } as const;
const levelClass = { info: "dim", warning: "warn", error: "err" } as const;

/** `why`: with a link to the page that shows what caused it. */
export function MessageRow({ message, why = true }: { message: Message; why?: boolean }) {
  return (
    <article class={`message ${message.sender.kind}`}>
      <header class="dim">
        <b>{senderName(message)}</b> <time>{clock(message.admitted_at)}</time>{" "}
        {why ? (
          <a
            class="quiet"
            href={link("why", message.id)}
            aria-label={`Why this message of ${senderName(message)} was sent`}
          >
            why
          </a>
        ) : null}
      </header>
      {message.sender.kind === "human" ? <p class="body">{visible(message.body)}</p> : <Markdown text={message.body} />}
      {message.attachments.map((file) => (
        <MessageImage key={file.sha256} message={message.id} file={file} />
      ))}
    </article>
  );
}

function TurnHeader({ row: { body }, session }: { row: RowOf<"turn">; session: string }) {
  const { started_at, ended_at, reason, usage, changes } = body;
  const tokens = usage === null ? null : usage.input + usage.cache_read + usage.cache_write + usage.output;
  const facts = [
    clock(started_at),
    duration((ended_at ?? now()) - started_at),
    tokens === null ? null : `${count(tokens)} tok`,
    usage?.cost === null || usage === null ? null : money(usage.cost),
  ].filter((fact) => fact !== null);
  return (
    <div class="turn">
      <p class="turn-line dim">
        <span>{facts.join(" · ")}</span>
        {changes === null || changes.files === 0 ? null : (
          <a class="quiet" href={`${link("changes", session)}?turn=${body.turn}`}>
            <Diffstat changes={changes} />
          </a>
        )}
        <span class={reason === null ? "ok" : reason === "completed" ? "" : "err"}>{reason ?? "working"}</span>
      </p>
    </div>
  );
}

function TurnEnd({ row: { body } }: { row: RowOf<"end"> }) {
  const { reason, error } = body;
  if (error === null) return <p class="row-notice dim">The turn ended: {reason}.</p>;
  return (
    <p class="problem">
      {visible(error.message)}
      {error.fix === undefined ? "" : ` ${visible(error.fix)}`}
    </p>
  );
}

const toolIcons: Readonly<Record<string, string>> = {
  read: "read",
  edit: "edit",
  execute: "run",
  search: "search",
  fetch: "globe",
  think: "think",
};

function ToolCall({ row: { body } }: { row: RowOf<"tool"> }) {
  const { call, result } = body;
  const diff = diffOfTool(body);
  return (
    <details class={`fold tool ${result?.is_error === true ? "failed" : ""}`}>
      <summary>
        <Icon name={toolIcons[call.kind] ?? "tool"} />
        <span class="cut">{oneLine(call.title || call.name, 160)}</span>
        {result === null ? <span class="ok">running</span> : result.is_error ? <span class="err">failed</span> : null}
      </summary>
      {diff === null ? <Block label={call.name} text={inputText(call.input)} /> : <LazyDiff open {...diff} />}
      {result === null || result.output === "" ? null : <Block label="output" text={result.output} />}
    </details>
  );
}

function Block({ label, text }: { label: string; text: string }) {
  if (text === "") return null;
  const shown = text.length > 20_000 ? `${text.slice(0, 20_000)}\n… ${text.length - 20_000} more characters` : text;
  return (
    <figure>
      <figcaption class="dim">{oneLine(label, 80)}</figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre class="code" tabIndex={0}>
        {visible(shown)}
      </pre>
    </figure>
  );
}

function inputText(input: unknown): string {
  if (input === null || input === undefined) return "";
  if (typeof input === "string") return input;
  const entries = Object.entries(input);
  if (entries.length === 0) return "";
  if (entries.length === 1 && typeof entries[0]?.[1] === "string") return entries[0][1];
  return JSON.stringify(input, null, 2);
}
