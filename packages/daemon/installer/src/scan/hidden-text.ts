/** Finds characters that are invisible to people but readable for models. */
import type { SkillFinding } from "@aegis/contract/skill-install.ts";
import { latinFor } from "./fold.ts";

export type HiddenText = Pick<SkillFinding, "severity" | "rule" | "message" | "excerpt"> & { index: number };

/** Returns the first occurrence of each kind. */
export function findHiddenText(text: string): HiddenText[] {
  const lookAlike = findLookAlike(text);
  // A cheap check, because almost no text contains any.
  if (!anyHidden.test(text)) return lookAlike === null ? [] : [lookAlike];
  return [lookAlike, findTags(text), ...kinds.map((kind) => findKind(text, kind))].filter((found) => found !== null);
}

/** Escapes everything invisible, on one line, truncated to the length of a line. */
export function visible(text: string): string {
  const shown = text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/\p{Cc}|\p{Cf}|\p{Co}|\p{Cs}|\p{Variation_Selector}/gu, (character) => {
      return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`;
    });
  return shown.length > 160 ? `${shown.slice(0, 159)}…` : shown;
}

type Kind = Pick<HiddenText, "severity" | "rule" | "message"> & { pattern: RegExp; unless?: (text: string) => boolean };

const anyHidden =
  /[\u{00AD}\u{061C}\u{115F}\u{1160}\u{180E}\u{200B}-\u{200F}\u{202A}-\u{202E}\u{2060}-\u{206F}\u{3164}\u{FEFF}\u{FFA0}\u{FFF9}-\u{FFFB}\u{E0000}-\u{E007F}]|[\u{E0100}-\u{E01EF}]/u;

const kinds: readonly Kind[] = [
  {
    severity: "suspicious",
    rule: "hidden.direction",
    message: "reverses the direction of text, so that it reads otherwise than it is",
    pattern: /[\u{202A}-\u{202E}\u{2066}-\u{2069}]/u,
  },
  {
    severity: "suspicious",
    rule: "hidden.selectors",
    message: "carries a run of invisible selectors, which can spell out any text",
    pattern: /[\u{E0100}-\u{E01EF}]{3}/u,
  },
  {
    severity: "suspicious",
    rule: "hidden.zero-width",
    message: "has invisible characters inside words",
    // Joiners belong in emoji and in scripts that need them; between Latin letters they only hide something.
    pattern:
      /[A-Za-z0-9 ][\u{00AD}\u{200B}-\u{200D}\u{2060}-\u{2064}\u{180E}\u{3164}\u{115F}\u{1160}\u{FFA0}]{1,64}[A-Za-z0-9 ]|[\u{200B}\u{2060}-\u{2064}\u{3164}\u{FFA0}]{4}/u,
  },
  {
    severity: "suspicious",
    rule: "hidden.annotation",
    message: "has characters that mark text as not to be shown",
    pattern: /[\u{FFF9}-\u{FFFB}\u{206A}-\u{206F}]/u,
  },
];

function findKind(text: string, { pattern, ...kind }: Kind): HiddenText | null {
  const found = pattern.exec(text);
  if (found === null) return null;
  return { ...kind, index: found.index, excerpt: visible(around(text, found.index, found[0].length)) };
}

/** Tag characters spell out letters. Legitimately, only a few regional flags use them, after a black flag. */
function findTags(text: string): HiddenText | null {
  for (const found of text.matchAll(/(?<flag>\u{1F3F4})?(?<tags>[\u{E0000}-\u{E007F}]{1,4000})/gu)) {
    const { flag, tags = "" } = found.groups ?? {};
    const said = Array.from(tags, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) & 0x7f)).join("");
    if (flag !== undefined && /^[a-z0-9]{2,6}\u007f$/.test(said)) continue;
    return {
      severity: "malicious",
      rule: "hidden.tags",
      message: "has text in characters that only a model reads",
      index: found.index,
      excerpt: `it says: ${visible(said)}`,
    };
  }
  return null;
}

/**
 * A Latin word with Cyrillic look-alike letters. Words in other scripts also contain letters that have no look-alike.
 */
function findLookAlike(text: string): HiddenText | null {
  for (const { index, 0: letters } of text.matchAll(
    /(?<=[A-Za-z])[\u0400-\u04FF]{1,8}(?![\u0400-\u04FF])|(?<![\u0400-\u04FF])[\u0400-\u04FF]{1,8}(?=[A-Za-z]{2})/gu,
  )) {
    if (![...letters].every((letter) => latinFor(letter) !== null)) continue;
    return {
      severity: "suspicious",
      rule: "hidden.look-alike",
      message: "has letters of another script inside words, which look like Latin ones",
      index,
      excerpt: visible(around(text, index, letters.length)),
    };
  }
  return null;
}

function around(text: string, index: number, length: number): string {
  return text.slice(Math.max(0, index - 30), index + length + 30);
}
