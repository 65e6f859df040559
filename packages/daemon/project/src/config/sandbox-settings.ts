/** Checks what confined programs are allowed: the paths and hosts of the project and of its agents. */
import { isRecord } from "@aegis/lib/is-record.ts";
import { parseHostRule } from "@aegis/sandbox/host-rules.ts";
import { type PathBase, pathProblem } from "@aegis/sandbox/reach.ts";
import { type Finding, readPath } from "./combine.ts";
import type { KeyPath } from "./problem.ts";

/** The schema reports values of other types. */
export function checkSandboxSettings(config: unknown, base: PathBase): Finding[] {
  const agents = readPath(config, ["agents"]);
  const owners: KeyPath[] = [[], ...(isRecord(agents) ? Object.keys(agents).map((slug) => ["agents", slug]) : [])];
  return owners.flatMap((owner) => checkAllow([...owner, "allow"], readPath(config, [...owner, "allow"]), base));
}

function checkAllow(at: KeyPath, allow: unknown, base: PathBase): Finding[] {
  if (!isRecord(allow)) return [];
  const problems = {
    write: (text: string) => pathProblem(text, "write", base),
    read: (text: string) => pathProblem(text, "read", base),
    hosts: (text: string) => {
      const rule = parseHostRule(text);
      return typeof rule === "string" ? rule : null;
    },
  };
  return Object.entries(problems).flatMap(([key, problemOf]) => {
    const values = allow[key];
    if (!Array.isArray(values)) return [];
    return values.flatMap((value, index): Finding[] => {
      const problem = typeof value === "string" && value !== "" ? problemOf(value) : null;
      return problem === null
        ? []
        : [{ path: [...at, key, index], at: "value", message: `${problem}, found "${value}"` }];
    });
  });
}
