/** Splits a page into the text between the `---` lines at its top and the text below. */

export type Page =
  /** `before` is the number of lines above the header. */
  | { kind: "header"; yaml: string; body: string; before: number }
  | { kind: "bare"; body: string }
  | { kind: "open"; line: number };

export function splitPage(raw: string): Page {
  const text = normalize(raw);
  const opening = /^(?:[ \t]*\n)*---[ \t]*(?:\n|$)/.exec(text);
  if (opening === null) return { kind: "bare", body: text };
  const start = opening[0].length;
  const before = opening[0].trimEnd().split("\n").length;
  // The `m` flag is not used, because its `^` and `$` also match at Unicode line separators.
  const found = /(?:^|\n)---[ \t]*(?:\n|$)/.exec(text.slice(start));
  if (found === null) return { kind: "open", line: before };
  const end = start + found.index;
  const after = end + found[0].length;
  return { kind: "header", yaml: `${text.slice(start, end)}\n`, body: text.slice(after), before };
}

/** Normalizes line endings and removes a byte order mark. */
function normalize(text: string): string {
  const unmarked = text.startsWith("\uFEFF") ? text.slice(1) : text;
  return unmarked.includes("\r") ? unmarked.replace(/\r\n?/g, "\n") : unmarked;
}

/**
 * Returns the first paragraph that is not a heading, for pages without a description. If there is none, returns a
 * heading.
 */
export function firstParagraph(body: string): string {
  const paragraphs = body
    .slice(0, longestSearch)
    .replace(/<!--[\s\S]*?-->/g, "")
    .replace(/^[ \t]*(```|~~~)[\s\S]*?^[ \t]*\1/gm, "")
    .split(/\n[ \t]*\n|(?<=^#.*)\n|\n(?=#{1,6} )/m)
    .map((part) => part.trim());
  const prose = paragraphs.find(
    (part) => /[\p{L}\p{N}]/u.test(part) && !/^(?:#|```|~~~|---|\||!\[|\[!|<[a-z/])/i.test(part),
  );
  const heading = paragraphs.find((part) => /^#+\s*[\p{L}\p{N}]/u.test(part))?.replace(/^#+\s*/, "");
  return plainText(prose ?? heading ?? "");
}

/**
 * Returns the text below the first matching heading, up to the next heading. Returns an empty string if no heading
 * matches.
 */
export function sectionAbout(body: string, subject: RegExp): string {
  // A plain text search, because a regular expression would be tried at each of thousands of lines.
  let at = body.startsWith("#") ? 0 : body.indexOf("\n#") + 1;
  while (at < longestSearch && body.startsWith("#", at)) {
    const end = body.indexOf("\n", at);
    if (end === -1) return "";
    if (subject.test(body.slice(at, end).replace(/^[^\p{L}]+/u, "")))
      return sectionAfter(body.slice(end, end + longestSection));
    at = body.indexOf("\n#", at) + 1;
    if (at === 0) return "";
  }
  return "";
}

function sectionAfter(rest: string): string {
  const end = /^(?:#{1,6}[ \t]|[-*]?[ \t]*\**do not use|```)/im.exec(rest);
  return plainText(end === null ? rest : rest.slice(0, end.index));
}

const longestSection = 2_000;
/** Only this much of a page is searched. */
const longestSearch = 20_000;

/** Removes Markdown syntax and joins the text to one line. */
function plainText(markdown: string): string {
  return markdown
    .replace(/^[ \t]*(?:>|[-*+] |\d+\. )/gm, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}/g, "")
    .replace(/\s+/g, " ")
    .trim();
}
