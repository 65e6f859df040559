/** Takes a skill's page apart: what stands between the `---` lines at its top, and the text below. */

export type Page =
  | { kind: "header"; yaml: string; body: string /** Lines above the header. */; before: number }
  | { kind: "bare"; body: string }
  | { kind: "open"; line: number };

/** `whole` is false when the text is only the beginning of a file. */
export function splitPage(raw: string): Page {
  const text = normalize(raw);
  const opening = /^(?:[ \t]*\n)*---[ \t]*(?:\n|$)/.exec(text);
  if (opening === null) return { kind: "bare", body: text };
  const start = opening[0].length;
  const before = opening[0].trimEnd().split("\n").length;
  const ending = /^---[ \t]*$/m;
  const found = ending.exec(text.slice(start));
  if (found === null) return { kind: "open", line: before };
  const end = start + found.index;
  const after = end + found[0].length;
  return { kind: "header", yaml: text.slice(start, end), body: text.slice(after).replace(/^\n/, ""), before };
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
