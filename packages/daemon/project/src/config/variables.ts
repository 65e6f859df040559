/** Resolves settings that reference environment variables of the daemon, and reports invalid references. */

import { basename, join } from "node:path";
import type { Agent, AgentDiagnostic } from "@aegis/contract/agent.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { expandVariables, referenceFault } from "@aegis/lib/variables.ts";
import { type Finding, readPath } from "./combine.ts";
import type { Config } from "./config.ts";
import { findPlace } from "./find-place.ts";
import { formatPath, type KeyPath } from "./problem.ts";

/** Returns references that are not of the form `${NAME}`. */
export function checkVariables(config: unknown): Finding[] {
  const agents = readPath(config, ["agents"]);
  const plugins = readPath(config, ["plugins"]);
  const environments = isRecord(agents) ? Object.keys(agents).map((slug): KeyPath => ["agents", slug, "env"]) : [];
  const settings = isRecord(plugins) ? Object.keys(plugins).map((name): KeyPath => ["plugins", name]) : [];
  return [...environments, ...settings].flatMap((path) => faultsIn(readPath(config, path), path));
}

function faultsIn(value: unknown, path: KeyPath): Finding[] {
  if (typeof value === "string") {
    const message = referenceFault(value);
    return message === null ? [] : [{ path, at: "value", message }];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => faultsIn(item, [...path, index]));
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => faultsIn(item, [...path, key]));
}

/** Finds agents whose `env` references an unset variable. Aegis does not start these agents; everything else works. */
export async function unsetVariables(root: string, config: Config, env: Environment): Promise<AgentDiagnostic[]> {
  const found: AgentDiagnostic[] = [];
  for (const [slug, agent] of Object.entries(config.agents)) {
    for (const { key, message } of unsetIn(slug, agent.env, env)) {
      const place = await findPlace(root, ["agents", slug, "env", key]);
      const file = place.file === null ? root : join(root, place.file);
      found.push({ level: "error", agent: slug, plugin: null, file, line: place.line, message });
    }
  }
  return found;
}

/** The reason why an agent cannot start: a variable in its `env` is not set. `diagnostics` contain the location. */
export function unsetRefusal(
  { slug, env: own }: Pick<Agent, "slug" | "env">,
  env: Environment,
  diagnostics: readonly AgentDiagnostic[],
): string | null {
  const [first] = unsetIn(slug, own, env);
  if (first === undefined) return null;
  const place = diagnostics.find(({ message }) => message === first.message);
  return place === undefined ? first.message : `${basename(place.file ?? "")}:${place.line ?? 1}: ${first.message}`;
}

function unsetIn(slug: string, own: Agent["env"], env: Environment): { key: string; message: string }[] {
  return Object.entries(own).flatMap(([key, text]) => {
    const { missing } = expandVariables(text, env);
    if (missing.length === 0) return [];
    const which = missing.length === 1 ? `the variable ${missing[0]} is` : `the variables ${missing.join(", ")} are`;
    const path = formatPath(["agents", slug, "env", key]);
    return [{ key, message: `${path}: ${which} not set in the environment that the daemon was started in` }];
  });
}
