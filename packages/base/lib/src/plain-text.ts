/**
 * Makes text from agents, files and tools safe for a terminal: no part of it can control the terminal, reorder the text
 * or hide in it. Independent of the platform.
 */

/** Text that has passed `plain` or `plainLine`. */
export type Plain = string & { readonly __plain: true };

/** String sequences with their payload, control sequences, and other escapes; the 7-bit and the 8-bit forms. */
const sequences = new RegExp(
  [
    String.raw`(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,65536}(?:\x07|\x1b\\|\x9c)?`,
    String.raw`(?:\x1b\[|\x9b)[0-?]{0,256}[ -/]{0,16}[@-~]?`,
    String.raw`\x1b[ -/]{0,16}[0-~]?`,
  ].join("|"),
  "g",
);
const controls = /(?![\n\t])[\p{Cc}\u2028\u2029]/gu;
/** Marks that change the direction or are invisible. Joiners and emoji variation selectors stay: scripts need them. */
const hidden =
  /[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/gu;
const stacked = /(\p{M}{4})\p{M}+/gu;
const tabWidth = 4;

/** Keeps line breaks. Shows invisible marks as their code point, as in `<202E>`; expands tabs. */
export function plain(text: string): Plain {
  return text
    .toWellFormed()
    .replace(/\r\n?/g, "\n")
    .replace(sequences, "")
    .replace(controls, "")
    .replace(hidden, (mark) => `<${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase()}>`)
    .replace(stacked, "$1")
    .replaceAll("\t", " ".repeat(tabWidth)) as Plain;
}

/** The text as one line. Reads only the beginning of a long text, because a line shows no more. */
export function plainLine(text: string, most = 2_000): Plain {
  return plain(text.slice(0, most)).replace(/\s+/g, " ").trim() as Plain;
}
