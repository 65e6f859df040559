/**
 * Converts Markdown to the plain text and entities of the Bot API, and splits it at boundaries. Text with entities is
 * never parsed by Telegram, so no agent's text can be refused for its markup. Offsets count UTF-16 units, as in
 * JavaScript.
 */
import type { ChannelText } from "../channel.ts";
import { type MarkedText, type Span, splitMarked } from "../split.ts";

export type Entity =
  | (Span & { type: "bold" | "italic" | "strikethrough" | "code" })
  | (Span & { type: "pre"; language?: string })
  | (Span & { type: "text_link"; url: string });
/** An entity before it has a place. */
type Mark = Entity extends infer E ? (E extends Entity ? Omit<E, keyof Span> : never) : never;

/** Telegram accepts 4096; the rest is for notes that Aegis adds. */
const longestPart = 3_900;

const inline =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|__([^_\n]+)__|(?<![\w*])\*([^*\s][^*\n]*)\*(?![\w*])|(?<![\w_])_([^_\s][^_\n]*)_(?![\w_])|~~([^~\n]+)~~|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/g;

export function telegramParts(markdown: string, limit = longestPart): ChannelText[] {
  return splitMarked(toEntities(markdown), limit).map(({ text, entities }) => ({ text, marks: entities }));
}

export function toEntities(markdown: string): MarkedText<Entity> {
  const out = new Writer();
  const lines = markdown.toWellFormed().replace(/\r\n?/g, "\n").split("\n");
  for (let at = 0; at < lines.length; at++) {
    if (at > 0) out.plain("\n");
    const line = lines[at] ?? "";
    const [, fence, language] = /^\s*(`{3,}|~{3,})\s*([\w+#.-]*)/.exec(line) ?? [];
    const [, heading] = /^#{1,6}\s+(.*)$/.exec(line) ?? [];
    if (fence !== undefined) {
      const body: string[] = [];
      for (at++; at < lines.length && !(lines[at] ?? "").trim().startsWith(fence); at++) body.push(lines[at] ?? "");
      out.marked({ type: "pre", ...(language === undefined || language === "" ? {} : { language }) }, body.join("\n"));
    } else if (heading !== undefined) out.marked({ type: "bold" }, heading);
    else inlineSpans(line, out);
  }
  return { text: out.text, entities: out.entities };
}

class Writer {
  text = "";
  readonly entities: Entity[] = [];

  plain(text: string): void {
    this.text += text;
  }

  marked(mark: Mark, text: string): void {
    if (text.length > 0) this.entities.push({ ...mark, offset: this.text.length, length: text.length });
    this.text += text;
  }
}

function inlineSpans(line: string, out: Writer): void {
  let from = 0;
  for (const match of line.matchAll(inline)) {
    out.plain(line.slice(from, match.index));
    from = match.index + match[0].length;
    const [, code, bold, bold2, italic, italic2, strike, label = "", url = ""] = match;
    if (code !== undefined) out.marked({ type: "code" }, code);
    else if (bold !== undefined || bold2 !== undefined) out.marked({ type: "bold" }, bold ?? bold2 ?? "");
    else if (italic !== undefined || italic2 !== undefined) out.marked({ type: "italic" }, italic ?? italic2 ?? "");
    else if (strike !== undefined) out.marked({ type: "strikethrough" }, strike);
    else out.marked({ type: "text_link", url }, label);
  }
  out.plain(line.slice(from));
}
