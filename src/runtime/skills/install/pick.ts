/** Finds the skill that is meant among the files of a source. */
import { basename } from "node:path";
import { AegisError } from "../../../contract/errors.ts";
import { nearest } from "../../../lib/nearest.ts";
import { safeParts, TreeRefused } from "../../../lib/tree-rules.ts";
import { parseSkill } from "../parse.ts";
import { maxPageBytes, readPage } from "../read-page.ts";
import { Slices, scanLimits, scanRoots } from "../scan.ts";
import { commandOf, type Skill, skillKey } from "../skill.ts";

export type Picked = { skill: Skill /** What it is to be copied from. */; folder: string };

/** Throws `not_found` when there is none or another one, `conflict` when there are several and none is named. */
export async function pickSkill(
  folder: string,
  fallbackName: string,
  wanted: string | null,
  signal: AbortSignal,
): Promise<Picked> {
  const root = { source: "aegis", folder, flat: false, headerless: false } as const;
  const { pages } = await scanRoots([root], { ...scanLimits, pages: mostPages }, new Slices(), signal);
  const candidates = pages.flatMap((page) =>
    page.folder === null
      ? []
      : [{ file: page.file, folder: page.folder, name: page.folder === folder ? fallbackName : basename(page.folder) }],
  );
  if (candidates.length === 0)
    throw new AegisError("not_found", "there is no SKILL.md in it", {
      hint: "a skill is a folder with a SKILL.md; name the folder if it is further down",
    });
  const named = candidates.map((candidate) => ({ ...candidate, ...read(candidate) }));
  const chosen = wanted === null ? named : named.filter((one) => isCalled(one, wanted));
  const [first, ...others] = chosen;
  if (first === undefined) throw noneCalled(wanted ?? "", named.map(labelOf));
  if (others.length > 0) throw severalCalled(named.map(labelOf));
  if (first.skill === null) throw new AegisError("invalid", first.problem);
  return { skill: first.skill, folder: first.folder };
}

/** The folder a skill is put into: its name, as far as every file system can store it. */
export function folderName(skill: Skill): string {
  const name = commandOf(skill.name).replaceAll(":", "-");
  try {
    if (name !== "" && safeParts(name).length === 1 && !name.startsWith(".")) return name;
  } catch (error) {
    if (!(error instanceof TreeRefused)) throw error;
  }
  throw new AegisError("invalid", `"${skill.name}" cannot be the name of a folder`);
}

type Candidate = { file: string; folder: string; name: string };
type Read = { skill: Skill | null; problem: string };

const mostPages = 1000;

function read({ file, folder, name }: Candidate): Read {
  const { text, cut } = readPage(file, maxPageBytes);
  const label = basename(file);
  if (cut > 0) return { skill: null, problem: `${label} is longer than ${maxPageBytes} bytes` };
  const origin = {
    source: "aegis",
    plugin: null,
    file,
    folder,
    text: null,
    fallbackName: name,
    headerless: false,
  } as const;
  const { skill, diagnostics } = parseSkill(text, origin);
  const [error] = diagnostics.filter(({ level }) => level === "error");
  const line = error?.line == null ? "" : `:${error.line}`;
  return { skill, problem: `${label}${line} ${error?.message ?? "is no skill"}` };
}

function isCalled({ skill, name }: Candidate & Read, wanted: string): boolean {
  const key = skillKey(wanted);
  return skillKey(name) === key || (skill !== null && skillKey(skill.name) === key);
}

function labelOf({ skill, name }: Candidate & Read): string {
  return skill?.name ?? name;
}

function noneCalled(wanted: string, names: readonly string[]): AegisError {
  const near = nearest(wanted, names);
  return new AegisError(
    "not_found",
    `it holds no skill "${wanted}"${near === null ? "" : ` (did you mean "${near}"?)`}`,
    {
      hint: listed(names),
    },
  );
}

function severalCalled(names: readonly string[]): AegisError {
  return new AegisError("conflict", `it holds ${names.length} skills: say which one is meant`, { hint: listed(names) });
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, 20).join(", ");
  return names.length > 20 ? `it holds ${shown} and ${names.length - 20} more` : `it holds ${shown}`;
}
