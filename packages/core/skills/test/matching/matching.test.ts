/**
 * Measures how often a natural request gets the right skill. The figures are published in docs/skills.md. Three sets, none of
 * them from elsewhere: one on which the weights were chosen, one that was written before anything was measured with it and used
 * to improve the ranking after, and one that was written before that improvement and not looked at during it.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { SkillMatcher } from "../../src/matcher.ts";
import type { SkillOutline } from "../../src/skill.ts";
import { parsed, simplePage } from "../fixtures.ts";
import {
  distractors,
  found,
  gifts,
  given,
  heldOut,
  type LabelledSet,
  mean,
  measure,
  plain,
  samples,
  secondLook,
  tuned,
} from "./labelled.ts";

const all = [...tuned.skills, ...heldOut.skills, ...distractors];
const names = new Set(secondLook.requests.flatMap(({ wanted }) => wanted));
const second: LabelledSet = { ...secondLook, skills: all.filter(({ name }) => names.has(name)) };

/**
 * Few skills get a text whenever it is likely. With many, a text must be certain: the list has the descriptions of the
 * candidates, and an agent can load the right one.
 */
const sets = [
  { what: "the tuned set", label: "166 plain requests", set: tuned, hits: { few: 0.92, own: 0.84, thousand: 0.63 } },
  {
    what: "the held-out set",
    label: "169 indirect requests",
    set: heldOut,
    hits: { few: 0.5, own: 0.3, thousand: 0.16 },
  },
  { what: "the second look", label: "110 plain requests", set: second, hits: { few: 0.93, own: 0.88, thousand: 0.68 } },
] as const;
describe("the labelled sets", () => {
  it("are large enough and name no skill that is not there", () => {
    const known = new Set(all.map(({ name }) => name));
    for (const { set } of sets) {
      expect(set.skills.length).toBeGreaterThanOrEqual(100);
      expect(set.requests.flatMap(({ wanted }) => wanted).filter((name) => !known.has(name))).toEqual([]);
    }
    expect(heldOut.requests.length).toBeGreaterThanOrEqual(150);
    expect(heldOut.idle.length).toBeGreaterThanOrEqual(60);
    expect(known.size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(1_000);
  });
});

describe.each(sets)("$what", ({ set, hits }) => {
  it("gets the right skill among two with 42 skills, whichever they are", () => {
    const results = samples(set.skills, 42).map((skills) => measure(skills, set));
    expect(mean(results.map((result) => result.hits))).toBeGreaterThanOrEqual(hits.few);
    expect(mean(results.map((result) => result.gifts))).toBeLessThanOrEqual(0.05);
  });

  it.each([
    { count: "its own", skills: set.skills, least: hits.own },
    { count: "a thousand", skills: all, least: hits.thousand },
  ])("gets it with $count, and a wrong one at most once in forty times", ({ skills, least }) => {
    const result = measure(skills, set);
    expect(result.hits, JSON.stringify(result.missed, null, 1)).toBeGreaterThanOrEqual(least);
    expect(result.gifts, JSON.stringify(result.unwanted, null, 1)).toBeLessThanOrEqual(1 / 40);
  });

  it("has it among the candidates that a list of a thousand describes", () => {
    expect(found(all, set.requests)).toBeGreaterThanOrEqual(set === heldOut ? 0.75 : 0.97);
  });
});

describe.each(Object.entries(plain))("everyday requests, the list %s", (_, texts) => {
  it("get a text at most once in forty times where there are many skills", () => {
    expect(texts).toHaveLength(40);
    expect(gifts(new SkillMatcher(all), texts)).toEqual([]);
    for (const size of [210, 500])
      expect(
        mean(samples(all, size).map((skills) => gifts(new SkillMatcher(skills), texts).length)),
      ).toBeLessThanOrEqual(1);
  });
});

describe("the page on skills", () => {
  const page = readFileSync(new URL("../../../../../docs/skills.md", import.meta.url), "utf8").split("\n");
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const expectRow = (label: string, ...shares: readonly number[]) => {
    const row = `| ${[label, ...shares.map(percent)].join(" | ")} |`;
    expect(page.filter((line) => line.startsWith(`| ${label} |`))).toEqual([row]);
  };

  it.each(sets)("publishes what $what shows here", ({ set, label }) => {
    const few = samples(set.skills, 42).map((skills) => measure(skills, set));
    const [own, thousand] = [measure(set.skills, set), measure(all, set)];
    const size = set.skills.length;
    const ranked = [
      mean(samples(set.skills, 42).map((skills) => found(skills, set.requests))),
      ...[set.skills, all].map((skills) => found(skills, set.requests)),
    ];
    const hits = [mean(few.map((one) => one.hits)), own.hits, thousand.hits];
    expectRow(`hits, ${label}, ${size} skills`, ...hits);
    expectRow(`candidates, ${label}`, ...ranked);
    const wrong = [mean(few.map((one) => one.gifts)), own.gifts, thousand.gifts];
    expectRow(`wrong, ${set.idle.length} requests`, ...wrong);
  });

  it.each([
    ["wrong, 40 everyday requests", plain.seen],
    ["wrong, 40 further ones", plain.unseen],
  ])("publishes %s", (label, texts) => {
    const share = (skills: readonly SkillOutline[]) => gifts(new SkillMatcher(skills), texts).length / texts.length;
    const shares = [42, 130].map((size) => mean(samples(all, size).map(share)));
    expectRow(label, ...shares, share(all));
  });
});

describe("what a request is not about", () => {
  it("is never learnt from a block of code", () => {
    const matcher = new SkillMatcher(tuned.skills);
    const code = "```sql\nSELECT * FROM customers -- weather forecast in Redis\n```";
    expect(given(matcher, `what does this return?\n${code}\nthanks`)).toEqual([]);
    expect(given(matcher, `what does this return?\n\`\`\`\nkubernetes helm pods`)).toEqual([]);
  });

  it("is no everyday word that is a skill's whole name", () => {
    const plain = ["note", "test", "plan", "review", "list"].map((name) =>
      parsed(simplePage(name, `Handles every ${name}`)),
    );
    const matcher = new SkillMatcher([...tuned.skills, ...plain]);
    for (const text of ["run the test again", "I will plan that later", "list the files", "make a note of it"])
      expect(given(matcher, text), text).toEqual([]);
  });
});
