/** Asks as messages with choices. A choice is bound to the ask's digest, so it can only approve what was shown. */
import type { Ask } from "@aegis/contract/ask.ts";
import { type AskId, isId } from "@aegis/contract/ids.ts";
import type { AskCard, Channel } from "../channel.ts";

/** Services limit the data of a button, some to 64 bytes. 96 bits of the digest identify the action. */
const digestLength = 24;
const longestDetail = 1_500;

function choiceData(ask: Pick<Ask, "id" | "digest">, option: number): string {
  return `a1:${ask.id}:${ask.digest.slice(0, digestLength)}:${option}`;
}

export function readChoice(data: string): { ask: AskId; digest: string; option: number } | null {
  const [, id = "", digest = "", option = ""] = /^a1:(ask_\w{26}):([0-9a-f]{24}):(\d{1,2})$/.exec(data) ?? [];
  return isId("ask", id) ? { ask: id, digest, option: Number(option) } : null;
}

export function isAbout(ask: Pick<Ask, "digest">, digest: string): boolean {
  return ask.digest.slice(0, digestLength) === digest;
}

type ShownAsk = {
  markdown: string;
  /** The whole action, if the message shows only a part of it. */
  whole: string | null;
};

/** Everything in it was written by an agent, so texts are fenced or quoted. */
function showAsk(ask: Ask): ShownAsk {
  const { origin, question, reason, tool, detail, changes, gate } = ask;
  const who = origin === null ? "An agent" : `**${origin.handle}** (${origin.agent})`;
  const action = [
    ...(hasContent(detail) ? [asText(detail)] : []),
    ...changes.map(({ path, before, after, patch }) => {
      const how = after === null ? "delete" : before === null && patch === null ? "create" : "change";
      return [`${how} ${path}`, ...(patch !== null ? [patch] : after === null ? [] : [after])].join("\n");
    }),
  ].join("\n\n");
  const isCut = action.length > longestDetail;
  const shown = isCut ? `${action.slice(0, longestDetail).toWellFormed()}…` : action;
  const markdown = [
    `${who} asks:`,
    question,
    ...(tool === null ? [] : [`Tool: ${tool}${gate ? " (a gate requires a decision)" : ""}`]),
    ...(reason === null ? [] : [`Reason: ${reason}`]),
    ...(shown === "" ? [] : [fenced(shown)]),
    ...(isCut ? ["The file above contains the whole action."] : []),
  ].join("\n\n");
  return { markdown, whole: isCut ? action : null };
}

export function askCard(ask: Ask, channel: Pick<Channel, "format">): { card: AskCard; whole: string | null } {
  const { markdown, whole } = showAsk(ask);
  const [part = { text: "An agent asks.", marks: [] }, ...rest] = channel.format(markdown);
  const choices = ask.options.map((label, option) => ({ label, data: choiceData(ask, option) }));
  const isWhole = whole === null && rest.length === 0;
  return {
    card: { part, choices, reply: choices.length === 0 },
    whole: isWhole ? null : [ask.question, ask.reason ?? "", whole ?? ""].filter((text) => text !== "").join("\n\n"),
  };
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

function hasContent(detail: unknown): boolean {
  if (detail === null || detail === undefined || detail === "") return false;
  return typeof detail !== "object" || Object.keys(detail).length > 0;
}

function asText(detail: unknown): string {
  return typeof detail === "string" ? detail : JSON.stringify(detail, null, 2);
}
