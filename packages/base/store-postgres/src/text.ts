/**
 * PostgreSQL cannot store the character NUL in text. It is stored as U+2400 followed by "0", and U+2400 itself as two
 * of them, so that every text comes back unchanged and equal texts stay equal.
 */
const mark = "\u2400";

export function encodeText(text: string): string {
  if (!text.includes("\0") && !text.includes(mark)) return text;
  return text.replaceAll(mark, mark + mark).replaceAll("\0", `${mark}0`);
}

export function decodeText(text: string): string {
  if (!text.includes(mark)) return text;
  return text.replace(/\u2400([\u24000])/g, (_, escaped: string) => (escaped === "0" ? "\0" : mark));
}
