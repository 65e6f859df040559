/** Scans the files of a package before they are used. It only reads and runs nothing. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { FindingSeverity, SkillFinding } from "@aegis/contract/skill-install.ts";
import { listTree } from "@aegis/lib/safe-tree.ts";
import { Slices } from "@aegis/lib/slices.ts";
import { findCombined } from "./combined.ts";
import { findDecodedRuns, findSentSecrets } from "./decode-run.ts";
import { findFarText } from "./far-text.ts";
import { type FoldedText, fold } from "./fold.ts";
import { findHiddenText, visible } from "./hidden-text.ts";
import { findLures } from "./lure.ts";
import { FindingPlaces, isPage, type SkillFile } from "./place.ts";
import type { ScanRule } from "./scan-rule.ts";
import { hiddenProgram, scanRules } from "./scan-rules.ts";
import { findSteering } from "./steering.ts";
import { base64Runs, WordFinder } from "./text-search.ts";
import { inspectBytes } from "./unreadable.ts";
import { severities } from "./verdict.ts";
import { weighed } from "./weigh.ts";

type Found = Pick<SkillFinding, "severity" | "rule" | "message" | "excerpt">;
/** Includes the position in the text, which decides whether the finding is quoted. */
type FoundAt = SkillFinding & { index: number };

/** Per rule and file: more findings of the same rule add no information. */
const mostPerRule = 3;
const mostFindings = 100;
/** Larger text files do not belong in a skill. The rest is not scanned, and a finding says so. */
const mostBytes = 5 << 20;
/** Text is scanned in parts, so that other work is not blocked. */
const partLength = 16 * 1024;
/** The overlap of parts: longer than any pattern with its context. */
const margin = 2 * 1024;
/** Runs of related characters are not split, up to this length. */
const longestLetters = 8 * 1024;
/** The maximum distance between an anchor and its context. */
const reach = 500;
/** Steps of a search are short, so the clock is checked only every few steps. */
const stepsPerPause = 16;
const newline = 10;
const leastBase64 = 40;
const mostBase64 = 16_000;
const wordsOfRules = new WordFinder(scanRules.flatMap((rule) => rule.words));

/** Returns all findings, most severe first. */
export async function scanTree(folder: string, signal: AbortSignal): Promise<SkillFinding[]> {
  const findings: SkillFinding[] = [];
  const pages: SkillFile[] = [];
  const malicious: { page: SkillFile; found: FoundAt }[] = [];
  for (const file of await listTree(folder)) {
    signal.throwIfAborted();
    const { bytes, cut } = await readSome(join(folder, file));
    if (cut) findings.push(tooLarge(file));
    const { text, problem } = inspectBytes(file, bytes);
    if (problem !== null) findings.push(wholeFile(file, problem.rule, problem.message, problem.severity));
    if (text === null) continue;
    const page = { file, text };
    pages.push(page);
    for (const found of await findInText(file, text, signal)) {
      if (found.severity === "malicious") malicious.push({ page, found });
      else findings.push(plain(found));
    }
  }
  if (malicious.length > 0) {
    const places = new FindingPlaces(pages);
    for (const { page, found } of malicious) findings.push(judged(found, places, page));
  }
  findings.sort(
    (a, b) =>
      severities.indexOf(a.severity) - severities.indexOf(b.severity) ||
      Number(a.quoted ?? false) - Number(b.quoted ?? false),
  );
  return findings.slice(0, mostFindings);
}

/** The findings of one text, rule by rule. */
export async function scanText(file: string, text: string, signal: AbortSignal): Promise<SkillFinding[]> {
  const page = { file, text };
  const places = new FindingPlaces([page]);
  return (await findInText(file, text, signal)).map((found) =>
    found.severity === "malicious" ? judged(found, places, page) : plain(found),
  );
}

async function findInText(file: string, text: string, signal: AbortSignal): Promise<FoundAt[]> {
  const slices = new Slices();
  const lines = new Lines(text);
  const found = new Map<string, FoundAt[]>();
  const pause = async () => {
    await slices.rest();
    signal.throwIfAborted();
  };
  const add = (index: number, { severity, rule, message, excerpt }: Found) => {
    const key = `${rule} ${severity}`;
    const ofRule = found.get(key) ?? [];
    found.set(key, ofRule);
    if (ofRule.length >= mostPerRule) return;
    const line = lines.at(index);
    if (!ofRule.some((other) => other.line === line))
      ofRule.push({ severity, rule, file, line, message, excerpt, index });
  };
  const folded = await slowly(fold(text), pause);
  for (let start = 0; start === 0 || start < folded.text.length; start += partLength)
    for (const _ of scanPart(text, folded, isPage(file), start, add)) await pause();
  for (let start = 0; start === 0 || start < text.length; start += partLength) {
    const whole = wholeLetters(text, start, start + partLength);
    for (const hidden of findHiddenText(text.slice(whole.from, whole.to))) add(whole.from + hidden.index, hidden);
    await pause();
  }
  let steps = 0;
  for (const far of findFarText(file, text)) {
    if (far === undefined) await pause();
    else add(far.index, far);
  }
  for (const finding of [findDecodedRuns, findSentSecrets, findLures, isPage(file) ? findSteering : findCombined])
    for (const one of finding(folded.text)) {
      if (one !== undefined) {
        const at = folded.originAt(one.index);
        add(at, { ...one, excerpt: excerptOf(text, at, folded.originAt(one.index + one.length)) });
      }
      if (++steps % stepsPerPause === 0) await pause();
    }
  for (const { index, run } of base64Runs(text, leastBase64, mostBase64)) {
    const finding = hiddenProgramIn(run, text.slice(Math.max(0, index - 60), index));
    if (finding !== null) add(index, finding);
    await pause();
  }
  return withoutDoubles([...found.values()].flat());
}

async function slowly<T>(work: Generator<void, T>, pause: () => Promise<void>): Promise<T> {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    await pause();
  }
}

/** A weaker finding of the same kind on the same line is dropped. */
function withoutDoubles(findings: FoundAt[]): FoundAt[] {
  const said = new Map<string, Set<number | null>>();
  for (const { rule, line } of findings) {
    const of = said.get(rule) ?? new Set();
    said.set(rule, of.add(line));
  }
  return findings.filter(({ rule, line }) => !(saidBy[rule] ?? []).some((other) => said.get(other)?.has(line)));
}

const saidBy: Readonly<Record<string, readonly string[]>> = {
  "install.shell-pipe": [
    "install.shell-pipe-throwaway",
    "install.shell-pipe-ip",
    "payload.decode-run",
    "payload.base64-shell",
  ],
  "install.shell-pipe-throwaway": ["install.shell-pipe-ip"],
  "payload.decode-run": ["payload.base64-shell"],
  "payload.mentions-mining": ["payload.crypto-mining"],
  "credentials.read": ["exfiltration.credentials"],
  "payload.locked-archive": ["lure.locked-archive"],
  "lure.download-run": ["lure.locked-archive"],
};

function plain({ index: _, ...finding }: FoundAt): SkillFinding {
  return finding;
}

function judged(found: FoundAt, places: FindingPlaces, page: SkillFile): SkillFinding {
  const quoted = places.isQuoted(page, found.index, found.rule);
  return quoted ? { ...plain(found), quoted } : plain(found);
}

/** Yields where it may be interrupted. */
function* scanPart(
  text: string,
  folded: FoldedText,
  inPage: boolean,
  start: number,
  add: (at: number, finding: Found) => void,
): Generator<void> {
  const from = Math.max(0, start - margin);
  const part = folded.text.slice(from, start + partLength + margin);
  const words = wordsOfRules.find(part);
  for (const rule of scanRules) {
    if (!rule.words.some((word) => words.has(word))) continue;
    for (const { at, length } of matchRule(rule, part, { from: start - from, to: start - from + partLength })) {
      const origin = folded.originAt(from + at);
      const { rule: name, message } = rule;
      const line = `${lineBefore(part, at)}${part.slice(at, at + length)}${lineAfter(part, at + length)}`;
      const severity = weighed(rule, line, inPage, () => folded.text);
      const excerpt = excerptOf(text, origin, folded.originAt(from + at + length));
      add(origin, { severity, rule: name, message, excerpt });
    }
    yield;
  }
}

/**
 * The matches of the rule. A match that starts outside the range belongs to another part, which sees its context.
 */
function* matchRule(
  rule: ScanRule,
  text: string,
  range: { from: number; to: number },
): Generator<{ at: number; length: number }> {
  let count = 0;
  for (const { index, 0: match } of text.matchAll(rule.anchor)) {
    if (index < range.from) continue;
    if (index >= range.to) return;
    const [before, after] = [lineBefore(text, index), lineAfter(text, index + match.length)];
    if (rule.before !== undefined && !rule.before.test(before)) continue;
    if (rule.after !== undefined && !rule.after.test(after)) continue;
    const line = `${before}${match}${after}`;
    if (rule.line !== undefined && !rule.line.test(line)) continue;
    if (rule.unless?.test(line)) continue;
    yield { at: index, length: match.length };
    if (++count >= mostPerRule * 2) return;
  }
}

/** Extends the range to plain characters: half a flag would look like hidden text. */
function wholeLetters(text: string, start: number, end: number): { from: number; to: number } {
  let [from, to] = [start, Math.min(end, text.length)];
  while (from > 0 && start - from < longestLetters && text.charCodeAt(from - 1) > 127) from--;
  while (to < text.length && to - end < longestLetters && text.charCodeAt(to) > 127) to++;
  return { from, to };
}

/** The text on the same line, bounded: a file may be one line. */
function lineBefore(text: string, at: number): string {
  const near = text.slice(Math.max(0, at - reach), at);
  return near.slice(near.lastIndexOf("\n") + 1);
}

function lineAfter(text: string, at: number): string {
  const near = text.slice(at, at + reach);
  const end = near.indexOf("\n");
  return end === -1 ? near : near.slice(0, end);
}

function excerptOf(text: string, at: number, end: number): string {
  const shown = `${lineBefore(text, at).slice(-60)}${text.slice(at, end)}${lineAfter(text, end).slice(0, 60)}`;
  return visible(shown);
}

/** A run of base64 that decodes to a program. Source maps contain programs but do not execute them. */
function hiddenProgramIn(run: string, before: string): Found | null {
  const decoded = Buffer.from(run, "base64").toString("latin1");
  const program = hiddenProgram.exec(decoded);
  if (program === null) return null;
  const excerpt = visible(decoded.slice(Math.max(0, program.index - 20), program.index + 120));
  const severity = /sourceMappingURL=data:[\w/;=-]{0,50},$/.test(before) ? "note" : "malicious";
  return { severity, rule: "payload.base64-program", message: "hides a program in base64", excerpt };
}

/** Maps positions to line numbers. Counts lines only as far as needed. */
class Lines {
  readonly #text: string;
  /** The number of lines before each part. */
  readonly #before: number[] = [0];

  constructor(text: string) {
    this.#text = text;
  }

  at(index: number): number {
    const part = Math.floor(index / partLength);
    for (let next = this.#before.length; next <= part; next++)
      this.#before.push((this.#before[next - 1] ?? 0) + this.#count((next - 1) * partLength, next * partLength));
    return (this.#before[part] ?? 0) + this.#count(part * partLength, index) + 1;
  }

  #count(from: number, to: number): number {
    let count = 0;
    for (let at = from; at < to; at++) if (this.#text.charCodeAt(at) === newline) count++;
    return count;
  }
}

function wholeFile(
  file: string,
  rule: string,
  message: string,
  severity: FindingSeverity = "suspicious",
): SkillFinding {
  return { severity, rule, file, line: null, message, excerpt: "" };
}

/** A page of instructions of this size has no readers. It is filled up, so that a scan does not reach its end. */
function tooLarge(file: string): SkillFinding {
  const message = `is too large: only its first ${mostBytes >> 20} MiB were looked at`;
  return wholeFile(file, "unread.too-large", message, instructions.test(file) ? "malicious" : "suspicious");
}

const instructions = /^(?:skill|readme)\.md$/i;

async function readSome(path: string): Promise<{ bytes: Buffer; cut: boolean }> {
  await using file = await open(path);
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.min(size, mostBytes));
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  return { bytes: bytes.subarray(0, bytesRead), cut: size > mostBytes };
}
