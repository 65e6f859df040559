/**
 * Measures how often a natural request gets the right skill. The figures are published in docs/skills.md. Three sets, none of
 * them from elsewhere: one on which the weights were chosen, one that was written before anything was measured with it and used
 * to improve the ranking after, and one that was written before that improvement and not looked at during it.
 */
import { describe, expect, it } from "vitest";
import { SkillMatcher } from "../../src/matcher.ts";
import { parsed, simplePage } from "../fixtures.ts";
import {
  distractors,
  given,
  heldOut,
  type LabelledSet,
  mean,
  measure,
  samples,
  secondLook,
  tuned,
} from "./labelled.ts";

const all = [...tuned.skills, ...heldOut.skills, ...distractors];
const names = new Set(secondLook.requests.flatMap(({ wanted }) => wanted));
const second: LabelledSet = { ...secondLook, skills: all.filter(({ name }) => names.has(name)) };

const sets = [
  { what: "the tuned set", set: tuned, hits: { few: 0.92, own: 0.92, thousand: 0.87 }, gifts: 0.05 },
  { what: "the held-out set", set: heldOut, hits: { few: 0.5, own: 0.48, thousand: 0.4 }, gifts: 0.05 },
  { what: "the second look", set: second, hits: { few: 0.93, own: 0.92, thousand: 0.88 }, gifts: 0.06 },
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

describe.each(sets)("$what", ({ set, hits, gifts }) => {
  it("gets the right skill among two with 42 skills, whichever they are", () => {
    const results = samples(set.skills, 42).map((skills) => measure(skills, set));
    expect(mean(results.map((result) => result.hits))).toBeGreaterThanOrEqual(hits.few);
    expect(mean(results.map((result) => result.gifts))).toBeLessThanOrEqual(gifts);
  });

  it.each([
    { count: "its own", skills: set.skills, least: hits.own },
    { count: "a thousand", skills: all, least: hits.thousand },
  ])("gets it with $count", ({ skills, least }) => {
    const result = measure(skills, set);
    expect(result.hits, JSON.stringify(result.missed, null, 1)).toBeGreaterThanOrEqual(least);
    expect(result.gifts, JSON.stringify(result.unwanted, null, 1)).toBeLessThanOrEqual(gifts);
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
