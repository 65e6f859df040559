/** Looks through a skill's files before they are used. It reads them and runs nothing. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as nextRound } from "node:timers/promises";
import type { FindingSeverity, SkillFinding } from "../../../contract/skill-install.ts";
import { listTree } from "../../../lib/safe-tree.ts";
import { findHiddenText, visible } from "./hidden-text.ts";
import { hiddenProgram, type ScanRule, scanRules } from "./scan-rules.ts";
import { base64Runs, WordFinder } from "./text-search.ts";

type Found = Pick<SkillFinding, "severity" | "rule" | "message" | "excerpt">;

export type Verdict = "clean" | FindingSeverity;

/** Of one rule in one file; a page full of the same is no worse than three lines of it. */
const mostPerRule = 3;
const mostFindings = 100;
/** Text is looked at in parts, so that nothing else waits; they overlap by more than any pattern is long. */
const partLength = 256 * 1024;
const overlap = 20 * 1024;
/** How far what makes a rule fit may be from its anchor. */
const reach = 500;
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
    else if (!isBinary(bytes)) findings.push(...(await scanText(file, decode(bytes))));
  }
  findings.sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
  return findings.slice(0, mostFindings);
}

export function verdictOf(findings: readonly SkillFinding[]): Verdict {
  return order.find((severity) => findings.some((finding) => finding.severity === severity)) ?? "clean";
}

/** The findings of one text, in the order of its lines. */
export async function scanText(file: string, original: string): Promise<SkillFinding[]> {
  const text = joinedLines(original);
  const lines = new Lines(original);
  const found = new Map<string, SkillFinding[]>();
  const add = (at: number, finding: Found) => {
    const ofRule = found.get(finding.rule) ?? [];
    found.set(finding.rule, ofRule);
    const line = lines.at(at);
    // The parts overlap.
    if (ofRule.length < mostPerRule && !ofRule.some((other) => other.line === line))
      ofRule.push({
        severity: finding.severity,
        rule: finding.rule,
        file,
        line,
        message: finding.message,
        excerpt: finding.excerpt,
      });
  };
  for (let start = 0; start === 0 || start < text.length - overlap; start += partLength - overlap) {
    if (start > 0) await nextRound();
    const part = text.slice(start, start + partLength);
    const lower = lowerCase(part);
    const words = wordsOfRules.find(lower);
    for (const rule of scanRules) {
      if (!rule.words.some((word) => words.has(word))) continue;
      matchRule(rule, lower, (at, length) => add(start + at, withExcerpt(rule, part, at, length)));
    }
    for (const hidden of findHiddenText(original.slice(start, start + partLength))) add(start + hidden.index, hidden);
    findHiddenPrograms(part, (at, finding) => add(start + at, finding));
  }
  return [...found.values()].flat();
}

const order: readonly FindingSeverity[] = ["malicious", "suspicious", "note"];

function matchRule(rule: ScanRule, text: string, add: (at: number, length: number) => void): void {
  let count = 0;
  for (const { index, 0: match } of text.matchAll(rule.anchor)) {
    const [before, after] = [lineBefore(text, index), lineAfter(text, index + match.length)];
    if (rule.before !== undefined && !rule.before.test(before)) continue;
    if (rule.after !== undefined && !rule.after.test(after)) continue;
    const line = `${before}${match}${after}`;
    if (rule.line !== undefined && !rule.line.test(line)) continue;
    if (rule.unless?.test(line)) continue;
    add(index, match.length);
    if (++count >= mostPerRule * 2) return;
  }
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

/** Long runs of base64 that decode to a program. */
function findHiddenPrograms(text: string, add: (at: number, finding: Found) => void): void {
  for (const { index, run } of base64Runs(text, leastBase64, mostBase64)) {
    const decoded = Buffer.from(run, "base64").toString("latin1");
    const program = hiddenProgram.exec(decoded);
    if (program === null) continue;
    const excerpt = visible(decoded.slice(Math.max(0, program.index - 20), program.index + 120));
    const message = "hides a program in base64";
    add(index, { severity: "malicious", rule: "payload.base64-program", message, excerpt });
  }
}

/** A command that goes on in the next line is one line here. Lengths stay, so that places stay. */
function joinedLines(text: string): string {
  return text
    .replace(/\\\r?\n/g, (end) => " ".repeat(end.length))
    .replace(/\|[ \t]{0,8}\r?\n/g, (end) => `|${" ".repeat(end.length - 1)}`);
}

class Lines {
  readonly #starts: number[] = [0];

  constructor(text: string) {
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
  }

  at(index: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    return low + 1;
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
