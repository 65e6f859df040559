/**
 * The header line that names a message's sender to an agent, and the escaping that prevents a body from containing one.
 * Escaping is lossless: `unescapeHeaders(escapeHeaders(body)) === body` for every body.
 */

/** The separator between two messages of one turn. */
export const messageSeparator = "\n\n";
/** How the header names the person. */
export const personOrigin = "user";

const headerLine = /^> from ([a-z]+)(?::([^\s·]+))?(?: ·.*)? · \d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** `word` is the kind of sender as spelled in the header; `name` is the text after the colon. */
export type HeaderParts = { word: string; name: string | null };

export function headerOf(origin: string, timestamp: string): string {
  return `> from ${origin} · ${timestamp}`;
}

/**
 * Reads the header line that names a message's sender to an agent. Returns null if the line is not a header.
 *
 * @example
 * ```ts
 * import { parseHeader } from "aegis/schema";
 *
 * parseHeader("> from agent:lucid-knuth · 2026-01-31T12:00:00Z"); // { word: "agent", name: "lucid-knuth" }
 * parseHeader("hello"); // null
 * ```
 */
export function parseHeader(line: string): HeaderParts | null {
  const [, word, name] = headerLine.exec(line) ?? [];
  return word === undefined ? null : { word, name: name ?? null };
}

/** Inserts a backslash before the `>` of each line that could be mistaken for a header. */
export function escapeHeaders(body: string): string {
  return body.replace(quoteMark, (mark, at: number) => (resemblesHeader(body, at) ? `\\${mark}` : mark));
}

/**
 * Restores a message body that was escaped so that no line of it could pass for a header.
 *
 * @example
 * ```ts
 * import { unescapeHeaders } from "aegis/schema";
 *
 * unescapeHeaders("\\> from user"); // "> from user"
 * ```
 */
export function unescapeHeaders(text: string): string {
  return text.replace(escapedMark, (escaped, at: number) =>
    resemblesHeader(text, at + 1) ? escaped.slice(1) : escaped,
  );
}

const quoteMark = /[>\uFF1E]/g;
const escapedMark = /\\[>\uFF1E]/g;
const lineEnd = /[\n\r\v\f\u0085\u2028\u2029]/;
/** Whitespace and invisible characters of any kind. Half of a surrogate pair also matches, which only escapes more. */
const unseen = /[\p{Z}\p{C}]/u;
const isUnseen = (char: string) => unseen.test(char) && !lineEnd.test(char);

/**
 * Backslashes directly before the `>` are part of the match, so that a body written with one differs from a body
 * escaped here. Uses a loop, because a regular expression would overflow the stack on megabytes of blanks.
 */
function resemblesHeader(body: string, mark: number): boolean {
  let before = mark - 1;
  while (before >= 0 && body.charAt(before) === "\\") before -= 1;
  while (before >= 0 && isUnseen(body.charAt(before))) before -= 1;
  if (before >= 0 && !lineEnd.test(body.charAt(before))) return false;
  let after = mark + 1;
  while (after < body.length && isUnseen(body.charAt(after))) after += 1;
  return /^from\b/i.test(body.slice(after, after + 5));
}
