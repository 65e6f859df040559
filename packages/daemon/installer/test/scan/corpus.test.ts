/** Measures the scan on labelled skills. docs/skills.md publishes these rates. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type CorpusName, type CorpusSkill, readCorpus } from "@aegis/test/helpers/skill-corpus.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, test } from "vitest";
import { scanTree } from "../../src/scan/scan.ts";
import { verdictOf } from "../../src/scan/verdict.ts";
import { writeFiles } from "../skill/set-up.ts";
import { onlyQuoted } from "./only-quoted.ts";

type Judged = {
  name: string;
  heldOut: boolean;
  refused: boolean;
  /** Whether each malicious finding is in a quoted example, a test or a reference. */
  onlyQuoted: boolean;
};

async function judge({ name, heldOut, files }: CorpusSkill): Promise<Judged> {
  const dir = await tempDir();
  await writeFiles(dir, Object.fromEntries(Object.entries(files).map(([path, text]) => [join(name, path), text])));
  const findings = await scanTree(join(dir, name), new AbortController().signal);
  const refused = verdictOf(findings) === "malicious";
  return { name, heldOut, refused, onlyQuoted: onlyQuoted(findings) };
}

const judged = new Map<CorpusName, Promise<Judged[]>>();

/** Judges each set once for all tests. */
function judgeAll(name: CorpusName): Promise<Judged[]> {
  const known = judged.get(name) ?? judgeSet(name);
  judged.set(name, known);
  return known;
}

async function judgeSet(name: CorpusName): Promise<Judged[]> {
  const all: Judged[] = [];
  for (const skill of await readCorpus(name)) all.push(await judge(skill));
  return all;
}

const names = (judged: readonly Judged[]) => judged.map(({ name }) => name);

test("malicious skills are refused, and none of them as a mere quotation", { tags: "slow" }, async () => {
  const judged = await judgeAll("malicious");
  expect(judged.length).toBeGreaterThanOrEqual(40);
  // The goal is 22 of 23, tuned or held out.
  for (const heldOut of [false, true]) {
    const part = judged.filter((one) => one.heldOut === heldOut);
    expect(part.filter(({ refused }) => refused).length / part.length).toBeGreaterThanOrEqual(22 / 23);
  }
  expect(names(judged.filter(({ refused, onlyQuoted }) => !refused || onlyQuoted))).toEqual([]);
});

test("at most one in a hundred harmless skills is refused, and what teaches security only for what it quotes", {
  tags: "slow",
}, async () => {
  const [harmless, security] = [await judgeAll("harmless"), await judgeAll("security")];
  expect(security.length).toBeGreaterThanOrEqual(50);
  expect(harmless.length + security.length).toBeGreaterThanOrEqual(120);
  expect(names(harmless.filter(({ refused }) => refused))).toEqual([]);
  const stuck = [...harmless, ...security].filter(({ refused, onlyQuoted }) => refused && !onlyQuoted);
  expect(stuck.length / (harmless.length + security.length)).toBeLessThanOrEqual(0.03);
  expect(names(stuck)).toEqual([]);
});

test("the page on skills publishes what is measured here", { tags: "slow" }, async () => {
  const text = await readFile(new URL("../../../../../docs/skills.md", import.meta.url), "utf8");
  const page = text.split("\n").filter((line) => line.startsWith("| "));
  const [malicious, harmless, security] = [
    await judgeAll("malicious"),
    await judgeAll("harmless"),
    await judgeAll("security"),
  ];
  const row = (label: string, judged: readonly Judged[]) => {
    const refused = judged.filter((one) => one.refused);
    const stuck = refused.filter(({ onlyQuoted }) => !onlyQuoted);
    return `| ${label} | ${judged.length} | ${refused.length} | ${stuck.length} |`;
  };
  expect(page).toContain(row("malicious", malicious));
  expect(page).toContain(row("harmless", harmless));
  expect(page).toContain(row("teach security", security));
});
