/** Takes a skill's page apart: what stands between the `---` lines at its top, and the text below. */

export type Page =
  /** `before` counts the lines above the header. */
  | { kind: "header"; yaml: string; body: string; before: number }
  | { kind: "bare"; body: string }
  | { kind: "open"; line: number };

export function splitPage(raw: string): Page {
  const text = normalize(raw);
  const opening = /^(?:[ \t]*\n)*---[ \t]*(?:\n|$)/.exec(text);
  if (opening === null) return { kind: "bare", body: text };
  const start = opening[0].length;
  const before = opening[0].trimEnd().split("\n").length;
  // Not with `^` and `$` of every line: those also match at ends of lines that only Unicode knows.
  const found = /(?:^|\n)---[ \t]*(?:\n|$)/.exec(text.slice(start));
  if (found === null) return { kind: "open", line: before };
  const end = start + found.index;
  const after = end + found[0].length;
  return { kind: "header", yaml: `${text.slice(start, end)}\n`, body: text.slice(after), before };
}

/** One kind of line end, no mark of the byte order. */
function normalize(text: string): string {
  const unmarked = text.startsWith("\uFEFF") ? text.slice(1) : text;
  return unmarked.includes("\r") ? unmarked.replace(/\r\n?/g, "\n") : unmarked;
}

/** The first paragraph that is no heading, for a page that does not describe itself. */
export function firstParagraph(body: string): string {
  const paragraphs = body.split(/\n[ \t]*\n/).map((part) => part.trim());
  const prose = paragraphs.find((part) => part !== "" && !/^(?:#|```|<!--|---)/.test(part));
  const heading = paragraphs.find((part) => part.startsWith("#"))?.replace(/^#+\s*/, "");
  return (prose ?? heading ?? "").replace(/\s+/g, " ");
}
