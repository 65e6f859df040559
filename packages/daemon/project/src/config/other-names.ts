/** Keys under which other programs have a setting of Aegis. One finding names the key here, in place of what follows from it. */
import { isRecord } from "@aegis/lib/is-record.ts";
import { type Finding, readPath } from "./combine.ts";
import type { KeyPath } from "./problem.ts";

type OtherName = { path: KeyPath; isOther(value: unknown): boolean; here: string };

const otherNames: readonly OtherName[] = [
  { path: ["skills", "dir"], isOther: (value) => value !== undefined, here: "skills.dirs, a list of folders" },
  {
    path: ["plugins", "dir"],
    isOther: (value) => typeof value === "string",
    here: "plugin_dirs at the top level, a list of folders",
  },
  {
    path: ["agents", "subagents"],
    // An agent of that name has a harness or a provider.
    isOther: (value) => isRecord(value) && !["harness", "provider", "extends"].some((key) => key in value),
    here: "subagents at the top level; an agent's own are in agents.<name>.subagents",
  },
  {
    path: ["agents", "list"],
    isOther: Array.isArray,
    here: "agents.<name>, a map with the id as the key",
  },
];

export function withOtherNames(value: unknown, findings: readonly Finding[]): Finding[] {
  const named = otherNames.filter(({ path, isOther }) => isOther(readPath(value, path)));
  const isBelow = (path: KeyPath) => named.some((other) => other.path.every((key, at) => path[at] === key));
  return [
    ...findings.filter(({ path }) => !isBelow(path)),
    ...named.map(({ path, here }): Finding => ({ path, at: "key", message: `not a key of Aegis; here it is ${here}` })),
  ];
}
