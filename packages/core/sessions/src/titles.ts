/** Titles: a new title replaces one of the same or a lower rank. */
import { type TitleSource, titleMaxLength } from "@aegis/contract/session.ts";

const rank: Record<TitleSource, number> = { auto: 1, agent: 2, human: 3 };
const autoTitleLength = 40;

export function mayRetitle(current: TitleSource | null, next: TitleSource): boolean {
  return current === null || rank[next] >= rank[current];
}

/** One line without control characters or surrounding quotes, truncated at a word. */
export function cleanTitle(text: string, maxLength: number = titleMaxLength): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  const plain = line
    .replace(/\p{Cc}/gu, " ")
    .replace(/\s+/g, " ")
    .replace(/^["'`]+|["'`]+$/g, "")
    .trim();
  if (plain.length <= maxLength) return plain;
  const cut = plain.slice(0, maxLength - 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > maxLength / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

/** Derives a title from the first message of a session. */
export function autoTitle(body: string): string {
  return cleanTitle(body, autoTitleLength);
}
