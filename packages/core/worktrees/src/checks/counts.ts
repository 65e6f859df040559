/**
 * Reads test counts from the output of known tools. The counts are only shown: a test can print what looks like a
 * summary, so the exit code decides. The last summary in the output is taken.
 */
import { stripVTControlCharacters } from "node:util";
import type { TestCounts } from "@aegis/contract/receipt.ts";

type Parser = (text: string) => TestCounts | null;

/** Agents decide what is printed: long lines are left out, so that no pattern takes long. */
const longestLine = 1_000;

/** Null if no known format is found. */
export function testCounts(output: string): TestCounts | null {
  const whole = stripVTControlCharacters(output);
  const lines = whole.split(/\r?\n/).filter((line) => line.length <= longestLine);
  const text = lines.join("\n");
  const report = junit(whole);
  if (report !== null) return report;
  for (const parse of parsers) {
    const counts = parse(text);
    if (counts !== null) return counts;
  }
  return null;
}

/** `Tests  1 failed | 2 passed | 1 skipped (4)`, below `Test Files  …`. */
const vitest: Parser = (text) => {
  if (!/^[ \t]*Test Files[ \t]+\d+/m.test(text)) return null;
  const line = last(text, /^[ \t]*Tests[ \t]+(\d+ \w+(?: \| \d+ \w+)*) \(\d+\)[ \t]*$/gm)?.[1];
  return line === undefined ? null : named(line, "vitest");
};

/** `Tests:       1 failed, 1 skipped, 2 passed, 4 total`. */
const jest: Parser = (text) => {
  const line = last(text, /^Tests:[ \t]+((?:\d+ \w+, )*)\d+ total[ \t]*$/gm)?.[1];
  return line === undefined ? null : named(line, "jest");
};

/** `=== 1 failed, 2 passed in 0.05s ===`; `-q` prints it without the signs. */
const pytest: Parser = (text) => {
  const line = last(
    text,
    /^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s(?: \([\d:.]+\))?(?: =+)?[ \t]*$/gm,
  );
  return line?.[1] === undefined ? null : named(line[1], "pytest");
};

/** One line for each crate and for its documentation tests: all of them count. */
const cargo: Parser = (text) => {
  const lines = text.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;/gm);
  const counts = { format: "cargo" as const, passed: 0, failed: 0, skipped: 0, partial: false };
  let found = false;
  for (const [, passed, failed, ignored] of lines) {
    found = true;
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  return found ? counts : null;
};

/** `-json`: the end of each test. Text: `-v` names every test, without it only those that failed. */
const go: Parser = (text) => {
  const counts = { format: "go" as const, passed: 0, failed: 0, skipped: 0, partial: false };
  const add = (action: string | undefined) => {
    if (action === "pass") counts.passed += 1;
    if (action === "fail") counts.failed += 1;
    if (action === "skip") counts.skipped += 1;
  };
  const events = [...text.matchAll(/^\{"Time":.*\}$/gm)].map(([line]) => goEvent(line));
  if (events.some((event) => event !== null)) {
    for (const event of events) if (event?.Test !== undefined) add(event.Action);
    return counts;
  }
  if (!/^(?:ok {2}\t|FAIL\t|\?? {3}\t|PASS$|FAIL$)/m.test(text)) return null;
  for (const [, action] of text.matchAll(/^[ \t]*--- (PASS|FAIL|SKIP): \S+/gm)) add(action?.toLowerCase());
  const isGo = /^(?:ok {2}\t|FAIL\t)\S+/m.test(text) || counts.passed + counts.failed + counts.skipped > 0;
  return isGo ? { ...counts, partial: !/^=== RUN /m.test(text) } : null;
};

type GoEvent = { Action?: string; Test?: string };

function goEvent(line: string): GoEvent | null {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === "object" && event !== null && "Action" in event ? (event as GoEvent) : null;
  } catch {
    return null;
  }
}

/** The totals of Node's reporters, else the tests of the top level: those of subtests are indented. */
const tap: Parser = (text) => {
  if (!/^TAP version \d+/m.test(text) && !/^1\.\.\d+/m.test(text)) return null;
  const total = (name: string) => {
    const found = last(text, new RegExp(`^# ${name} (\\d+)$`, "gm"))?.[1];
    return found === undefined ? null : Number(found);
  };
  const [passed, failed] = [total("pass"), total("fail")];
  if (passed !== null && failed !== null) {
    const skipped = (total("skipped") ?? 0) + (total("todo") ?? 0);
    return { format: "tap", passed, failed: failed + (total("cancelled") ?? 0), skipped, partial: false };
  }
  const counts = { format: "tap" as const, passed: 0, failed: 0, skipped: 0, partial: false };
  let found = 0;
  for (const [, not, rest = ""] of text.matchAll(/^(not )?ok\b(.*)$/gm)) {
    found += 1;
    if (/# (?:skip|todo)\b/i.test(rest)) counts.skipped += 1;
    else if (not === undefined) counts.passed += 1;
    else counts.failed += 1;
  }
  const planned = last(text, /^1\.\.(\d+)/gm)?.[1];
  if (found === 0 && planned !== "0") return null;
  return { ...counts, partial: planned !== undefined && Number(planned) !== found };
};

/** Counts the tests: the totals of suites differ between tools. Only a test that has content has an end tag. */
const junit: Parser = (text) => {
  if (!/<testsuites?[\s>]/.test(text)) return null;
  const counts = { format: "junit" as const, passed: 0, failed: 0, skipped: 0, partial: false };
  for (const part of text.split("<testcase ").slice(1)) {
    const end = part.indexOf("</testcase>");
    const content = end === -1 ? "" : part.slice(0, end);
    if (/<(?:failure|error)\b/.test(content)) counts.failed += 1;
    else if (/<skipped\b/.test(content)) counts.skipped += 1;
    else counts.passed += 1;
  }
  return counts;
};

const parsers: readonly Parser[] = [vitest, jest, cargo, pytest, tap, go];

function last(text: string, pattern: RegExp): RegExpMatchArray | null {
  return [...text.matchAll(pattern)].at(-1) ?? null;
}

const failing: ReadonlySet<string> = new Set(["failed", "error", "errors"]);
const passing: ReadonlySet<string> = new Set(["passed", "xpassed"]);
const skipping: ReadonlySet<string> = new Set(["skipped", "todo", "pending", "xfailed", "deselected"]);

/** `2 passed, 1 failed`, in any order. Words that are not results, such as `warnings`, do not count. */
function named(line: string, format: TestCounts["format"]): TestCounts {
  const counts = { format, passed: 0, failed: 0, skipped: 0, partial: false };
  for (const [, number, word = ""] of line.matchAll(/(\d+) (\w+)/g)) {
    if (failing.has(word)) counts.failed += Number(number);
    else if (passing.has(word)) counts.passed += Number(number);
    else if (skipping.has(word)) counts.skipped += Number(number);
  }
  return counts;
}
