/**
 * Derives a title from text that a person or an agent wrote: its first meaningful line, without markup and without what
 * looks like a secret. Lists, cards and commits name work by it.
 */

/** The length of a derived title. A commit subject of this length still fits beside its hash in 72 columns. */
export const derivedTitleLength = 60;

/** A title is near the start of its text; what follows this much is not searched. */
const searched = 8_192;
const longestLine = 512;

/** Returns "" if no line says anything. */
export function titleFrom(text: string, maxLength: number = derivedTitleLength): string {
  const lines = linesOf(text.slice(0, searched)).map(withoutMarkup).filter(isMeaningful);
  // A greeting is a title only if nothing follows it.
  const line = lines.find((one) => !greeting.test(one)) ?? lines[0] ?? "";
  return shortenTitle(firstSentence(withoutSecrets(line), maxLength), maxLength);
}

/** One line without control and invisible characters or surrounding quotes. */
export function oneLineTitle(text: string): string {
  return unquoted(flat(text.trim().split("\n", 1)[0] ?? ""));
}

/** Truncates at a word. */
export function shortenTitle(line: string, maxLength: number): string {
  if (line.length <= maxLength) return line;
  const cut = line.slice(0, maxLength - 1);
  const space = /[\s,;:.]/.test(line.charAt(maxLength - 1)) ? -1 : cut.lastIndexOf(" ");
  // Half of a surrogate pair is no character.
  const whole = (space > maxLength / 2 ? cut.slice(0, space) : cut).replace(/[\uD800-\uDBFF]$/, "");
  return `${whole.replace(/[\s,;:.–—-]+$/u, "")}…`;
}

/** Marks that hide or reorder text; the joiner inside an emoji is kept. */
const invisible = /[\u00AD\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]/gu;
/** The label of the whole text, as broadcasts have it. */
const label = /^(?:objective|task|goal|request):\s*(\S)/i;
const greeting = /^(hi|hello|hey|dear|good (morning|afternoon|evening)|thanks|thank you)\b.{0,24}$/i;

/** Lines outside code blocks and comments; those inside code blocks if there are no others. */
function linesOf(text: string): string[] {
  const lines = text.replace(/<!--[\s\S]*?(-->|$)/g, "").split(/\r\n|[\n\r\u2028\u2029]/);
  const outside: string[] = [];
  const inside: string[] = [];
  let fence: string | null = null;
  for (const line of lines) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1] ?? null;
    if (fence !== null) {
      if (mark?.startsWith(fence) === true) fence = null;
      else inside.push(line);
    } else if (mark !== null) fence = mark;
    else outside.push(line);
  }
  return outside.some((line) => isMeaningful(withoutMarkup(line))) ? outside : inside;
}

function withoutMarkup(line: string): string {
  const plain = flat(line.slice(0, longestLine))
    .replace(/^([>\s]|#{1,6}\s|[-*+]\s|\d{1,3}[.)]\s|\[[ xX]\]\s)+/, "")
    .replace(/!?\[([^\]]*)\]\([^)\s]*\)/g, "$1")
    .replace(/<\/?[a-zA-Z][^<>]*>/g, " ")
    .replace(/`+([^`]*)`+/g, "$1")
    .replace(/(\*\*|__)(?=\S)(.*?\S)\1/g, "$2")
    .replace(/(?<!\w)([*_])(?=\S)([^*_]*\S)\1(?!\w)/g, "$2")
    .replace(/^[|=~`*_-]+|[|=~`*]+$/g, "")
    .replace(/\s+/g, " ");
  return unquoted(plain.replace(label, "$1"));
}

function flat(line: string): string {
  return line
    .replace(/\p{Cc}/gu, " ")
    .replace(invisible, "")
    .replace(/\s+/g, " ")
    .trim();
}

function unquoted(line: string): string {
  return line
    .trim()
    .replace(/^["'`]+|["'`]+$/g, "")
    .trim();
}

/** A bare bracket or rule says nothing. */
function isMeaningful(line: string): boolean {
  return /[\p{L}\p{N}]/u.test(line);
}

const hidden = "…";
const secretForms: readonly [RegExp, string][] = [
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, "$1"],
  [
    /\b(pass(?:word|wd)?|secret|token|api[_-]?key|authorization|bearer)(\s*[:=]\s*|\s+(?=\S*\d))\S{6,}/gi,
    `$1$2${hidden}`,
  ],
  [/\b(?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[abeprs]|npm|AKIA|ASIA|AIza|eyJ)[-_A-Za-z0-9.]{12,}/g, hidden],
  [/(?=[A-Za-z0-9+_=]*\d)(?=[A-Za-z0-9+_=]*[A-Za-z])\b[A-Za-z0-9+_=]{32,}/g, hidden],
];

/** Values without a known form are removed by the redaction of the store. */
function withoutSecrets(line: string): string {
  return secretForms.reduce((text, [form, replacement]) => text.replace(form, replacement), line);
}

/** A long line is cut at the end of a sentence rather than inside one. */
function firstSentence(line: string, maxLength: number): string {
  if (line.length <= maxLength) return line;
  const end = /^.{12,}?[.!?](?=\s)/u.exec(line.slice(0, maxLength + 1))?.[0];
  return end === undefined ? line : end.replace(/\.$/, "");
}
