/**
 * Lures by signals that are combined. A rule on wording misses a lure in different words; these rules ask what a
 * section does: it names an outside place, it wants something from there to be run, and that something is not on the
 * page, so that no scan can read it.
 */
import type { HostKind } from "./hosts.ts";
import type { Hits } from "./lure-hits.ts";

export type LinkedPlace = { at: number; end: number; url: string; host: HostKind; program: boolean; cheap: boolean };

/** The part of a section around a link in which words belong to it. */
export type Section = { from: number; to: number };

const reachOfSection = 420;
/** The words that send to a page and back are close to its link. */
const reachOfPage = 240;

/** Ends at the headings around the link. */
export function sectionAround(text: string, at: number, end: number): Section {
  const before = text.slice(Math.max(0, at - reachOfSection), at);
  const after = text.slice(end, end + reachOfSection);
  const heading = /\n {0,3}#{1,6} /.exec(after)?.index ?? after.length;
  return { from: at - before.length + Math.max(0, before.lastIndexOf("\n#")), to: end + heading };
}

/**
 * Commands that are on another page and belong in a terminal. A number above zero is a score; a page that has the
 * command itself, or that offers a key or a token, is no lure.
 */
export function elsewhere(
  text: string,
  { at, end, host, cheap, program }: LinkedPlace,
  { from, to }: Section,
  hits: Hits,
): number {
  if (program || host === "local" || host === "known") return 0;
  const [low, high] = [Math.max(from, at - reachOfPage), Math.min(to, end + reachOfPage)];
  const near = (feature: Parameters<Hits["within"]>[0]) => hits.within(feature, low, high);
  if (takenAndRun(text.slice(Math.max(from, at - 100), at), text.slice(end, end + 120))) return 4;
  // Nothing but commands is taken from a page that anyone can make, or pasted into a terminal.
  if (!near("shellPlace") && !(host === "throwaway" && near("copyVerb"))) return 0;
  if (!near("actVerb") || !(near("commandNoun") || near("copyVerb"))) return 0;
  if (writtenHere(text.slice(low, at), text.slice(end, high)) || near("credential")) return 0;
  if (furtherReading.test(text.slice(low, at))) return 0;
  let score = 2;
  if (near("copyVerb")) score += 1;
  // Text that is pasted into a terminal is a command, regardless of its name.
  if (near("pasteVerb") || near("givenThere")) score += 1;
  if (near("prerequisite")) score += 1;
  if (hits.within("guard", from, to)) score += 1;
  if (host === "throwaway") score += 2;
  if (cheap) score += 1;
  if (/\bdocs?\b|documentation|readme|manual/.test(text.slice(low, at).slice(-60))) score -= 1;
  // Long pages have these words by chance.
  const meant = near("copyVerb") || cheap || host === "throwaway" || hits.within("visit", at - 60, at);
  return meant ? score : Math.min(score, 3);
}

/** "the command at <page> and run it", in so many words. */
function takenAndRun(before: string, after: string): boolean {
  return (
    /\b(?:commands?|one-?liner|script|snippet|start line|install line)\b[^.\n]{0,40}\b(?:at|from|on|in)\b[\s:<[(]{0,3}$/.test(
      before,
    ) &&
    /^[\s)>\].,]{0,4}[^.\n]{0,40}\b(?:run|execute|paste)\s(?:it|that|them|this|the (?:command|line|result|output))\b/.test(
      after,
    )
  );
}

/** Where to read on, not where to take something from. */
const furtherReading =
  /(?:^|[\n.(|*-])\s{0,3}(?:more|more info(?:rmation)?|docs?|documentation|see also|reference|homepage|website|source(?: code)?|repo(?:sitory)?|license)\**:\**[\s<[(]{0,3}$/;

/** A command in a code block, or in backticks after a verb or a colon, is the one that the reader should run. */
function writtenHere(before: string, after: string): boolean {
  if (/\n[ \t>]{0,8}(?:```|~~~)|\n\n(?: {4}|\t)\S/.test(after)) return true;
  // In the same paragraph, a command that is named is the one that is meant.
  const [rest = ""] = after.split(/\n[ \t]*\n/);
  const sentence = `${before.slice(before.lastIndexOf("\n\n") + 1)} ${rest}`;
  if (/\b(?:the|this|copy|following) `[a-z][\w.-]{1,30} [^`\n]{2,200}`/.test(sentence)) return true;
  const ordered =
    /(?:\b(?:run|runs|execute|type|enter|call|use|then|with|do|try|command)\b|[:—–-])[\s*]{0,3}`(?!curl`|wget`)[^`\n]{1,40}[\s=][^`\n]{1,300}`/;
  return ordered.test(before) || ordered.test(after);
}

const askedFor =
  /\b(?:ask|request|contact)\s(?!for\b)[^.\n]{0,40}\bpass(?:word|phrase|code)\b|\b(?:your|their|own) pass(?:word|phrase)\b|\bpass(?:word|phrase)\b[^.\n]{0,30}\b(?:manager|separately|you chose|of your|for your)\b/;

/** Something closed that is fetched, opened with a key from the page, and started. */
export function byUnlocking(text: string, place: LinkedPlace, { from, to }: Section, hits: Hits): number {
  const { at, end, host, program, cheap } = place;
  if (host === "local" || host === "known") return 0;
  const told = hits.first("lockAndKey", from, to);
  if (told === null || !hits.within("startVerb", told - 260, told + 260)) return 0;
  const opaque = program || host === "throwaway" || cheap;
  if (!opaque && !hits.within("packed", told - 160, told + 160)) return 0;
  if (!program && !hits.within("obtainVerb", at - 120, end + 120)) return 0;
  if (hits.within("samples", from, to)) return 3;
  // A password that somebody else has to give is none that comes with the archive.
  return askedFor.test(text.slice(from, to)) ? 0 : 4;
}

/** A program from a place that costs nothing, without which the skill claims not to work. */
export function byPrerequisite(text: string, place: LinkedPlace, { from, to }: Section, hits: Hits): number {
  const { at, end, host, cheap } = place;
  if (!cheap && host !== "throwaway") return 0;
  const near = (feature: Parameters<Hits["within"]>[0], reach: number) =>
    hits.within(feature, Math.max(from, at - reach), Math.min(to, end + reach / 2));
  if (!near("download", 120) || !near("toolNoun", 200)) return 0;
  const must = near("mustHave", 200) || near("threatens", 260) || near("guard", 260);
  if (!must && !near("prerequisite", 160)) return 0;
  // A package manager knows what the reader gets, and so does a command on the page.
  const line = `${text.slice(from, at).split("\n").at(-1)}${text.slice(end, to).split("\n")[0]}`;
  const listed = /^\s{0,8}(?:[-*+]|\d{1,2}[.)]) /.test(line);
  if (packageManager.test(listed ? line : text.slice(from, to))) return 0;
  if (!listed && writtenHere(text.slice(from, at), paragraph(text.slice(end, to)))) return 0;
  return must ? 4 : 3;
}

/** The rest of the paragraph and, if it announces one, the code after it. */
function paragraph(after: string): string {
  const [first = "", second = ""] = after.split(/\n[ \t]*\n/);
  return /:\s*$/.test(first) ? `${first}\n\n${second}` : first;
}

const packageManager =
  /\b(?:npm|pnpm|yarn|npx|pip[x3]?|uv|cargo|gem|brew|apt(?:-get)?|dnf|pacman|winget|choco|scoop|go) (?:i|install|add|get|run|tool)\b/;
