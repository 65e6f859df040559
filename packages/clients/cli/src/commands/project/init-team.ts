/** `aegis init --team claude,claude,codex`: the members of a team by the coding CLI that runs each. */
import { AegisError } from "@aegis/contract/errors.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { Choice, Extra } from "./init-agents.ts";

/** A coding CLI by the name of its command, which is also the name of its agents. */
export type Crew = { slug: string; harness: string };

export type InitTeam = {
  first: Choice;
  others: Extra[] /** Members whose CLI does not start here. */;
  absent: string[];
};

type Options = {
  /** As typed: names of CLIs or harnesses, separated by commas. */
  named: string;
  known: readonly Crew[];
  /** The harnesses that start on this machine. */
  starting: ReadonlySet<string>;
  worktrees: boolean;
};

const maxMembers = 16;

/** Every member may edit files; a person still approves commands. */
export function teamOf({ named, known, starting, worktrees }: Options): InitTeam {
  const members = named.split(",").map((word) => find(word.trim(), known));
  if (members.length > maxMembers)
    throw new AegisError("invalid", `--team names ${members.length} agents; at most ${maxMembers} fit in a first file`);
  const slugs = members.map(({ slug }, index) => {
    const before = members.slice(0, index).filter((one) => one.slug === slug).length;
    return before === 0 ? slug : `${slug}-${before + 1}`;
  });
  const isolation = worktrees ? ("worktree" as const) : null;
  const [first, ...rest] = members.map(({ harness }, index) => ({ slug: slugs[index] ?? harness, harness }));
  if (first === undefined) throw new AegisError("invalid", "--team names no agent");
  return {
    first: { ...first, model: null, permission: "write", isolation, why: null },
    others: rest.map(({ slug, harness }) => ({
      slug,
      role: "colleague",
      why: `A member of the team that runs on ${harness}`,
      entry: { harness, permission: "write", ...(isolation === null ? {} : { isolation }) },
    })),
    absent: [...new Set(members.flatMap(({ slug, harness }) => (starting.has(harness) ? [] : [slug])))],
  };
}

function find(word: string, known: readonly Crew[]): Crew {
  const found = known.find(({ slug, harness }) => slug === word || harness === word);
  if (found !== undefined) return found;
  const names = known.map(({ slug }) => slug);
  throw new AegisError(
    "invalid",
    `--team: ${JSON.stringify(word)} is not a coding CLI that Aegis knows${didYouMean(word, names)}`,
    {
      hint: `names are ${names.join(", ")}; for example: aegis init --team claude,claude,codex`,
    },
  );
}
