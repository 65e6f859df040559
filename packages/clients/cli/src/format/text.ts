/** Makes text from agents safe for a terminal: removes control characters and measures display width. */
import { stripVTControlCharacters } from "node:util";

/** All control characters except line break and tab. */
const controls = /(?![\n\t])\p{Cc}/gu;
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u;
const takesNoRoom = /^[\p{Mn}\p{Me}\p{Cf}]$/u;

/** Keeps lines; removes escape sequences and other control characters, so that an agent cannot control the terminal. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replace(controls, "");
}

/** The text as one line. */
export function oneLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

export function displayWidth(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) {
    if (takesNoRoom.test(character)) continue;
    width += wide.test(character) ? 2 : 1;
  }
  return width;
}

/** One line truncated to a width, with an ellipsis at the end. */
export function truncate(text: string, width: number): string {
  const line = oneLine(text);
  if (displayWidth(line) <= width) return line;
  let kept = "";
  let used = 0;
  for (const character of line) {
    const next = displayWidth(character);
    if (used + next > width - 1) break;
    kept += character;
    used += next;
  }
  return `${kept.trimEnd()}…`;
}

/** Lines no wider than `width`, broken between words. A longer word is not broken. */
export function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => {
    const lines: string[] = [];
    let current = "";
    for (const word of line.split(/(?<=\s)(?=\S)/)) {
      if (current !== "" && displayWidth((current + word).trimEnd()) > width) {
        lines.push(current.trimEnd());
        current = "";
      }
      current += word;
    }
    return [...lines, current.trimEnd()];
  });
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** US dollars; an amount below one cent is not shown as zero. */
export function dollars(amount: number): string {
  return `$${amount > 0 && amount < 0.01 ? Number(amount.toPrecision(2)) : amount.toFixed(2)}`;
}

export function bytes(count: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
