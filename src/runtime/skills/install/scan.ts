/** Looks through a skill's files before they are used. It reads them and runs nothing. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FindingSeverity, SkillFinding } from "../../../contract/skill-install.ts";
import { listTree } from "../../../lib/safe-tree.ts";
import { Slices } from "../scan.ts";
import { findHiddenText, visible } from "./hidden-text.ts";
import { hiddenProgram, type ScanRule, scanRules } from "./scan-rules.ts";
import { base64Runs, WordFinder } from "./text-search.ts";

type Found = Pick<SkillFinding, "severity" | "rule" | "message" | "excerpt">;

export type Verdict = "clean" | FindingSeverity;

/** Of one rule in one file; a page full of the same is no worse than three lines of it. */
const mostPerRule = 3;
const mostFindings = 100;
/** Text is looked at in parts, so that nothing else waits. */
const partLength = 16 * 1024;
/** What a part is given of its neighbours: more than any pattern, with what must stand around it, is long. */
const margin = 2 * 1024;
/** Letters that belong together are not parted, up to this many. */
const longestLetters = 8 * 1024;
/** How far what makes a rule fit may be from its anchor. */
const reach = 500;
const newline = 10;
const leastBase64 = 40;
const mostBase64 = 16_000;
const wordsOfRules = new WordFinder(scanRules.flatMap((rule) => rule.words));

/** Everything found, the worst first. */
export async function scanSkill(folder: string, signal: AbortSignal): Promise<SkillFinding[]> {
  const findings: SkillFinding[] = [];
  for (const file of await listTree(folder)) {
    signal.throwIfAborted();
    const bytes = await readFile(join(folder, file));
    const program = programKind(bytes);
    if (program !== null) findings.push(wholeFile(file, "payload.program", `is a ${program} program`));
    else if (!isBinary(bytes)) findings.push(...(await scanText(file, decode(bytes), signal)));
  }
  findings.sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  return findings.slice(0, mostFindings);
}

export function verdictOf(findings: readonly SkillFinding[]): Verdict {
  return order.find((severity) => findings.some((finding) => finding.severity === severity)) ?? "clean";
}

/** The findings of one text, rule by rule. */
export async function scanText(file: string, text: string, signal: AbortSignal): Promise<SkillFinding[]> {
  const slices = new Slices();
  const lines = new Lines(text);
  const found = new Map<string, SkillFinding[]>();
  const add = (at: number, { severity, rule, message, excerpt }: Found) => {
    const ofRule = found.get(rule) ?? [];
    found.set(rule, ofRule);
    if (ofRule.length >= mostPerRule) return;
    const line = lines.at(at);
    if (!ofRule.some((other) => other.line === line)) ofRule.push({ severity, rule, file, line, message, excerpt });
  };
  for (let start = 0; start === 0 || start < text.length; start += partLength) {
    for (const _ of scanPart(text, start, add)) {
      await slices.rest();
      signal.throwIfAborted();
    }
  }
  for (const { index, run } of base64Runs(text, leastBase64, mostBase64)) {
    const finding = hiddenProgramIn(run);
    if (finding !== null) add(index, finding);
    await slices.rest();
    signal.throwIfAborted();
  }
  return [...found.values()].flat();
}

const order: readonly FindingSeverity[] = ["malicious", "suspicious", "note"];

/** Yields where it may be interrupted. */
function* scanPart(text: string, start: number, add: (at: number, finding: Found) => void): Generator<void> {
  const from = Math.max(0, start - margin);
  const part = joinedLines(text.slice(from, start + partLength + margin));
  const lower = lowerCase(part);
  const words = wordsOfRules.find(lower);
  for (const rule of scanRules) {
    if (!rule.words.some((word) => words.has(word))) continue;
    for (const { at, length } of matchRule(rule, lower, { from: start - from, to: start - from + partLength }))
      add(from + at, withExcerpt(rule, part, at, length));
    yield;
  }
  const whole = wholeLetters(text, start, start + partLength);
  for (const hidden of findHiddenText(text.slice(whole.from, whole.to))) add(whole.from + hidden.index, hidden);
  yield;
}

/** Where the rule fits. What begins outside of the range is for another part, which sees all that is around it. */
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

/** Widened to where plain letters stand: half a flag would look like hidden text. */
function wholeLetters(text: string, start: number, end: number): { from: number; to: number } {
  let [from, to] = [start, Math.min(end, text.length)];
  while (from > 0 && start - from < longestLetters && text.charCodeAt(from - 1) > 127) from--;
  while (to < text.length && to - end < longestLetters && text.charCodeAt(to) > 127) to++;
  return { from, to };
}

/** What stands on the same line, within reason: a file may be one line. */
function lineBefore(text: string, at: number): string {
  const near = text.slice(Math.max(0, at - reach), at);
  return near.slice(near.lastIndexOf("\n") + 1);
}

function lineAfter(text: string, at: number): string {
  const near = text.slice(at, at + reach);
  const end = near.indexOf("\n");
  return end === -1 ? near : near.slice(0, end);
}

function withExcerpt(rule: ScanRule, text: string, at: number, length: number): Found {
  const { severity, rule: name, message } = rule;
  const shown = `${lineBefore(text, at).slice(-60)}${text.slice(at, at + length)}${lineAfter(text, at + length).slice(0, 60)}`;
  return { severity, rule: name, message, excerpt: visible(shown) };
}

/** Without a change of length, so that places stay. */
function lowerCase(text: string): string {
  const lower = text.toLowerCase();
  return lower.length === text.length ? lower : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** A run of base64 that decodes to a program. */
function hiddenProgramIn(run: string): Found | null {
  const decoded = Buffer.from(run, "base64").toString("latin1");
  const program = hiddenProgram.exec(decoded);
  if (program === null) return null;
  const excerpt = visible(decoded.slice(Math.max(0, program.index - 20), program.index + 120));
  return { severity: "malicious", rule: "payload.base64-program", message: "hides a program in base64", excerpt };
}

/** A command that goes on in the next line is one line here. Lengths stay, so that places stay. */
function joinedLines(text: string): string {
  return text
    .replace(/\\\r?\n/g, (end) => " ".repeat(end.length))
    .replace(/\|[ \t]{0,8}\r?\n/g, (end) => `|${" ".repeat(end.length - 1)}`);
}

/** The lines of places in a text. Only as much of it is counted as somebody asks for. */
class Lines {
  readonly #text: string;
  /** How many lines end before each part. */
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

function wholeFile(file: string, rule: string, message: string): SkillFinding {
  return { severity: "suspicious", rule, file, line: null, message, excerpt: "" };
}

function programKind(bytes: Buffer): string | null {
  const magic = bytes.subarray(0, 4).toString("hex");
  if (magic === "7f454c46") return "Linux";
  if (["cffaedfe", "cefaedfe", "feedface", "feedfacf", "cafebabe"].includes(magic)) return "macOS or Java";
  return bytes.length > 64 && magic.startsWith("4d5a") ? "Windows" : null;
}

function isBinary(bytes: Buffer): boolean {
  return !hasUtf16Mark(bytes) && bytes.subarray(0, 8192).includes(0);
}

function decode(bytes: Buffer): string {
  return hasUtf16Mark(bytes) ? bytes.toString("utf16le") : bytes.toString("utf8");
}

function hasUtf16Mark(bytes: Buffer): boolean {
  return bytes[0] === 0xff && bytes[1] === 0xfe;
}
