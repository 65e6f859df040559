/** The items of a conversation as lines. All foreign text is cleaned before it is styled. */

import { toolObject } from "@aegis/client/views/tool-words.ts";
import { plural, preciseDuration, senderName } from "@aegis/client/views/words.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { TurnReason } from "@aegis/contract/turn.ts";
import { plain, plainLine } from "@aegis/lib/plain-text.ts";
import { Markdown, type MarkdownTheme } from "@earendil-works/pi-tui/dist/components/markdown.js";
import { wrapTextWithAnsi } from "@earendil-works/pi-tui/dist/utils.js";
import { diffCounts, diffLines } from "../diff.ts";
import { boundBlock } from "../facts/blocks.ts";
import { highlightCode } from "../highlight.ts";
import type { Item, ItemOf } from "../items.ts";
import type { Theme } from "../theme.ts";
import { cut, ends } from "./layout.ts";

export type TranscriptLook = {
  theme: Theme;
  unfolded: boolean;
  /** The rows of an image, where the terminal can draw it. */
  picture?(message: Message, attachment: Message["attachments"][number], width: number): readonly string[] | null;
};

const mostOutputLines = 200;
const longestGrowing = 4_000;
const mostMessageLines = 40;

export function itemLines(item: Item, width: number, look: TranscriptLook): string[] {
  const { theme } = look;
  switch (item.kind) {
    case "message":
      return messageLines(item, width, look);
    case "text":
      // A long block without an end would be parsed again for every frame while it grows.
      if (item.streaming && item.text.length > longestGrowing)
        return wrap(plain(item.text.slice(-longestGrowing)), width);
      return [...markdownLines(item.text, width, theme), ""];
    case "thinking":
      return thinkingLines(item, width, look);
    case "tool":
      return toolLines(item, width, look);
    case "plan":
      return [
        ...item.entries.map(({ text, status }) => {
          const mark = { completed: "✓", in_progress: "▶", pending: "·" }[status];
          return cut(`  ${mark} ${plainLine(text)}`, width);
        }),
        "",
      ];
    case "notice": {
      const role = item.level === "info" ? "dim" : item.level === "warning" ? "wait" : "error";
      return wrap(plain(boundBlock(item.text)), width).map((line) => theme.paint(role, line));
    }
    case "end": {
      const words = endWords[item.reason];
      const text = item.error === null ? words : `${words}: ${plain(item.error.message)}`;
      const fix = item.error?.fix === undefined ? [] : wrap(`  ${plain(item.error.fix)}`, width);
      return [...wrap(`✗ ${text}`, width).map((line) => theme.paint("error", line)), ...fix, ""];
    }
  }
}

const endWords: Readonly<Record<TurnReason, string>> = {
  completed: "turn completed",
  cancelled: "turn interrupted",
  failed: "turn failed",
  refused: "turn refused",
  truncated: "turn reached a limit",
  lost: "turn interrupted by a crash of the daemon",
};

function messageLines({ message }: ItemOf<"message">, width: number, look: TranscriptLook) {
  const { theme } = look;
  const isHuman = message.sender.kind === "human";
  const body = wrap(plain(boundBlock(message.body)), Math.max(1, width - 2));
  const shown = body.slice(0, mostMessageLines);
  const more = body.length - shown.length;
  const bar = theme.paint(isHuman ? "run" : "wait", ">");
  return [
    ...(isHuman ? [] : [theme.paint("wait", cut(`> from ${plainLine(senderName(message))}`, width))]),
    ...shown.map((line) => `${bar} ${isHuman ? theme.paint("bold", line) : line}`),
    ...(more > 0 ? [theme.paint("dim", `  … ${plural(more, "more line")}`)] : []),
    ...message.attachments.flatMap((attachment) => {
      const { name, bytes } = attachment;
      const words = theme.paint("dim", cut(`  [image ${plainLine(name)}, ${Math.ceil(bytes / 1000)} kB]`, width));
      return [words, ...(look.picture?.(message, attachment, width) ?? [])];
    }),
    "",
  ];
}

function thinkingLines(item: ItemOf<"text" | "thinking">, width: number, look: TranscriptLook) {
  const { theme } = look;
  const words = item.text.slice(0, 200_000).split(/\s+/).length;
  const head = `${look.unfolded ? "▾" : "▸"} thinking${item.streaming ? " …" : ""}`;
  const lines = [theme.paint("dim", ends(head, plural(words, "word"), width))];
  if (look.unfolded) {
    for (const line of wrap(plain(boundBlock(item.text)), Math.max(1, width - 4)).slice(0, mostOutputLines))
      lines.push(theme.paint("dim", `    ${line}`));
  }
  return lines;
}

function toolLines(item: ItemOf<"tool">, width: number, look: TranscriptLook): string[] {
  const { theme } = look;
  const { call, result } = item;
  const change = result?.diff ?? call.diff;
  const parts = [
    ...(change === null ? [] : [countWords(diffCounts(change))]),
    ...(result === null ? ["…"] : [resultWords(result.output, result.is_error, change !== null)]),
    ...(item.ms === null ? [] : [preciseDuration(item.ms)]),
  ].filter((part) => part !== "");
  const role = result?.is_error ? "error" : result === null ? "run" : "dim";
  const name = `${look.unfolded ? "▾" : "▸"} ${plainLine(call.name)} ${plainLine(nameless(call))}`;
  const head = ends(name, theme.paint(role, parts.join(" · ")), width);
  if (!look.unfolded) return [head];
  const body = [
    ...(change === null ? [] : changeLines(change, width - 4, theme)),
    ...(result === null || change !== null ? [] : outputLines(result.output, width - 4)),
  ];
  return [head, ...body.map((line) => `    ${line}`)];
}

/** The object of the call, unless it only repeats the tool's name. */
function nameless(call: ItemOf<"tool">["call"]): string {
  const object = toolObject(call);
  if (object === call.name) return inputWords(call.input);
  return object.startsWith(`${call.name} `) ? object.slice(call.name.length + 1) : object;
}

function inputWords(input: unknown): string {
  if (input === null || input === undefined) return "";
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return text === "{}" ? "" : text;
}

function countWords({ added, removed }: { added: number; removed: number }): string {
  return `+${added} −${removed}`;
}

function resultWords(output: string, isError: boolean, hasChange: boolean): string {
  if (isError) return plainLine(output, 200).slice(0, 40) || "failed";
  if (hasChange || output === "") return "";
  return plural(output.slice(0, 1_000_000).trimEnd().split("\n").length, "line");
}

export function changeLines(
  change: { before: string | null; after: string | null; patch?: string | null },
  width: number,
  theme: Theme,
): string[] {
  if (change.patch) {
    return change.patch
      .split("\n")
      .slice(0, mostOutputLines)
      .map((line) => paintSigned(line.slice(0, 1), cut(oneRow(line), width), theme));
  }
  const lines = diffLines(change).slice(0, mostOutputLines);
  return lines.map(({ sign, text, line }) => {
    if (sign === "@") return theme.paint("dim", `⋯ ${text}`);
    const number = String(line).padStart(5);
    return paintSigned(
      sign,
      cut(`${number} ${sign === "-" ? "−" : sign} ${oneRow(text.slice(0, 2_000))}`, width),
      theme,
    );
  });
}

/** A line of a file may contain characters that end a line in a terminal. Its spaces stay, unlike those of a title. */
function oneRow(line: string): string {
  return plain(line).replaceAll("\n", " ");
}

function paintSigned(sign: string, line: string, theme: Theme): string {
  if (sign === "+") return theme.paint("ok", line);
  if (sign === "-") return theme.paint("error", line);
  return line;
}

function outputLines(output: string, width: number): string[] {
  const lines = wrap(plain(boundBlock(output)), Math.max(1, width));
  if (lines.length <= mostOutputLines) return lines;
  return [...lines.slice(0, mostOutputLines), `… ${plural(lines.length - mostOutputLines, "more line")}`];
}

export function wrap(text: string, width: number): string[] {
  return text
    .trimEnd()
    .split("\n")
    .flatMap((line) => (line === "" ? [""] : wrapTextWithAnsi(line, width)));
}

/** Lines of words and simple punctuation, none of which begins or ends as Markdown: parsing them changes nothing. */
const prose = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N} ,;?%'"()/]|\.(?!\p{L}))*(?<! )(?:\n|$))+$/u;
const numbered = /^\d+[.)]/m;

export function isProse(text: string): boolean {
  return prose.test(text) && !numbered.test(text);
}

function markdownLines(text: string, width: number, theme: Theme): string[] {
  if (text.length <= longestGrowing && isProse(text)) return wrap(text, width);
  const markdown = new Markdown(plain(boundBlock(text)), 0, 0, markdownTheme(theme), undefined, { renderLatex: false });
  const lines = markdown.render(width).map((line) => line.trimEnd());
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

function markdownTheme(theme: Theme): MarkdownTheme {
  const paint = (role: Parameters<Theme["paint"]>[0]) => (text: string) => theme.paint(role, text);
  const same = (text: string) => text;
  return {
    heading: paint("title"),
    link: paint("underline"),
    linkUrl: paint("dim"),
    code: paint("code"),
    codeBlock: same,
    codeBlockBorder: paint("dim"),
    quote: paint("dim"),
    quoteBorder: paint("dim"),
    hr: paint("dim"),
    listBullet: paint("run"),
    bold: paint("bold"),
    italic: paint("underline"),
    strikethrough: paint("dim"),
    underline: paint("underline"),
    highlightCode: (code) => highlightCode(code, theme),
  };
}
