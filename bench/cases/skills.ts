/** Skills: reading thousands of pages, looking whether any changed, and what each message and conversation costs. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SkillLibrary } from "@aegis/skills/library.ts";
import { SkillMatcher } from "@aegis/skills/matcher.ts";
import type { SkillRoot } from "@aegis/skills/places.ts";
import type { SkillOutline } from "@aegis/skills/skill.ts";
import { buildSkillList } from "@aegis/skills/skill-list.ts";
import type { Bench } from "../bench.ts";
import { compareRounds, elapsed, type Figure, figure, type Goal, interleave } from "../measure.ts";
import { writeSkills } from "../skill-tree.ts";

const message =
  "The dashboards of the billing project look wrong since we deployed on Friday. Please look through the logs, find out " +
  "which service writes the wrong totals, and write a short report for the team with what we should do about it.";

type Tree = { root: SkillRoot; paths: string[] };
type Measure = (
  name: string,
  subjects: { ours: () => Promise<number>; base: () => Promise<number> },
  input: Pick<Figure, "unit" | "against">,
  goal?: Goal,
) => Promise<Figure>;

export const skills: Bench = {
  name: "skills",
  about: "loading 1,000 and 8,000 skills, seeing what changed, matching a message, listing them for an agent",
  async run({ folder, quick, signal }) {
    const measure: Measure = async (name, subjects, input, goal) => {
      const rounds = await interleave(subjects, quick ? 2 : 7, signal);
      return figure({ name, ...input }, compareRounds(rounds.ours, rounds.base), goal);
    };
    const small = await plant(join(folder, "small"), 1_000);
    const large = await plant(join(folder, "large"), 8_000);
    const loaded = await libraryOf(small).refresh(signal);
    return [
      ...(await loading("1,000 skills", small, measure, signal, {
        first: { ratioAtMost: 2 },
        again: { valueBelow: 30 },
      })),
      ...(await loading("8,000 skills", large, measure, signal, { first: { ratioAtMost: 2 } })),
      await matching(loaded.skills, measure),
      await listing(loaded.skills, measure),
    ];
  },
};

async function plant(folder: string, count: number): Promise<Tree> {
  const paths = await writeSkills(folder, count);
  return { root: { source: "project", folder, flat: false, headerless: false }, paths };
}

function libraryOf({ root }: Tree): SkillLibrary {
  return new SkillLibrary({ roots: () => ({ above: [root], below: [] }), now: Date.now });
}

async function loading(
  what: string,
  tree: Tree,
  measure: Measure,
  signal: AbortSignal,
  goals: { first: Goal; again?: Goal },
): Promise<Figure[]> {
  const input = { unit: "ms", against: "reading the files" } as const;
  const read = () => elapsed(() => Promise.all(tree.paths.map((path) => readFile(path, "utf8"))));
  const library = libraryOf(tree);
  await library.refresh(signal);
  const [changed = ""] = tree.paths;
  const text = await readFile(changed, "utf8");
  let edits = 0;
  const edit = async () => {
    edits += 1;
    await writeFile(changed, `${text}\nEdit ${edits}.\n`);
    return elapsed(() => library.refresh(signal));
  };
  return [
    await measure(
      `${what}, first load`,
      { ours: () => elapsed(() => libraryOf(tree).refresh(signal)), base: read },
      input,
      goals.first,
    ),
    await measure(
      `${what}, none changed`,
      { ours: () => elapsed(() => library.refresh(signal)), base: read },
      input,
      goals.again,
    ),
    await measure(`${what}, one changed`, { ours: edit, base: read }, input),
  ];
}

function matching(skills: readonly SkillOutline[], measure: Measure): Promise<Figure> {
  const matcher = new SkillMatcher(skills);
  const words = [...new Set(message.toLowerCase().split(/\W+/))];
  const texts = skills.map(({ name, description }) => `${name} ${description}`.toLowerCase());
  return measure(
    "message matched to 1,000 skills",
    {
      ours: () => microseconds(() => matcher.match(message).length),
      base: () => microseconds(() => texts.filter((text) => words.some((word) => text.includes(word))).length),
    },
    { unit: "µs", against: "looking for each word in each text" },
    { valueBelow: 2_000 },
  );
}

function listing(skills: readonly SkillOutline[], measure: Measure): Promise<Figure> {
  const options = { budget: 16_000, rank: () => 0, canLoad: true, canSearch: true };
  return measure(
    "list of 1,000 skills for an agent",
    {
      ours: () => microseconds(() => buildSkillList(skills, options).text.length),
      base: () =>
        microseconds(() => skills.map(({ name, description }) => `${name}: ${description}`).join("\n").length),
    },
    { unit: "µs", against: "joining all names and descriptions" },
  );
}

async function microseconds(work: () => number): Promise<number> {
  const repeat = 50;
  let sum = 0;
  const ms = await elapsed(async () => {
    for (let round = 0; round < repeat; round++) sum += work();
  });
  if (sum === 0) throw new Error("nothing was done");
  return (ms * 1000) / repeat;
}
