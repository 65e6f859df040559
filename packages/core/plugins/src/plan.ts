/** Decides which of the found plugins are loaded, in which order, and why others are not. Pure. */

import type { PluginManifest } from "@aegis/contract/plugin.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import semver from "semver";
import { versionProblem } from "./aegis-version.ts";
import type { FoundPlugin } from "./find.ts";
import { placeText } from "./host/errors.ts";

type Refusal = { status: "failed" | "disabled"; reason: string };

export type PlannedPlugin = { found: FoundPlugin; refusal: Refusal | null };

export type PlanOptions = {
  enabled: boolean;
  deny: readonly string[];
  /** The version of Aegis. */
  version: string;
};

/** Required plugins come before those that require them; otherwise the order stays. */
export function planPlugins(found: readonly FoundPlugin[], options: PlanOptions): PlannedPlugin[] {
  const byName = new Map<string, PlannedPlugin>();
  const planned = found.map((plugin): PlannedPlugin => {
    const first = byName.get(plugin.name);
    if (first !== undefined)
      return { found: plugin, refusal: failed(`${first.found.place} is a plugin of that name too`) };
    const one = { found: plugin, refusal: judge(plugin, options) };
    byName.set(plugin.name, one);
    return one;
  });
  const order = new Order(byName);
  for (const one of planned) order.visit(one);
  return order.done;
}

/**
 * The names of plugins whose code must be loaded before anything runs: critical ones, because agents are refused
 * without them, and those that require others or are required, because they fail together.
 */
export function eagerOnes(planned: readonly PlannedPlugin[]): ReadonlySet<string> {
  const eager = new Set<string>();
  for (const { found } of planned) {
    const requires = Object.keys(found.manifest?.requires ?? {});
    if (found.manifest?.critical === true || requires.length > 0) eager.add(found.name);
    for (const name of requires) eager.add(name);
  }
  return eager;
}

class Order {
  readonly done: PlannedPlugin[] = [];
  readonly #byName: ReadonlyMap<string, PlannedPlugin>;
  readonly #state = new Map<PlannedPlugin, "open" | "done">();

  constructor(byName: ReadonlyMap<string, PlannedPlugin>) {
    this.#byName = byName;
  }

  /** Returns the problem for plugins that require it, or null. */
  visit(one: PlannedPlugin): string | null {
    const state = this.#state.get(one);
    if (state === "open") return "they require each other";
    if (state === "done") return one.refusal?.reason ?? null;
    this.#state.set(one, "open");
    const problem = this.#requirements(one);
    if (problem !== null) one.refusal ??= failed(problem);
    this.#state.set(one, "done");
    this.done.push(one);
    return one.refusal?.reason ?? null;
  }

  #requirements({ found }: PlannedPlugin): string | null {
    for (const [name, range] of Object.entries(found.manifest?.requires ?? {})) {
      const other = this.#byName.get(name);
      if (other === undefined)
        return `it requires the plugin "${name}" ${range}, which was not found${didYouMean(name, this.#byName.keys())}`;
      const problem = this.visit(other);
      if (problem !== null) return `it requires the plugin "${name}", which cannot be used: ${problem}`;
      const version = other.found.manifest?.version ?? "";
      if (!semver.satisfies(version, range, { includePrerelease: true }))
        return `it requires the plugin "${name}" ${range}, found ${version}`;
    }
    return null;
  }
}

function judge(plugin: FoundPlugin, { enabled, deny, version }: PlanOptions): Refusal | null {
  if (!enabled) return { status: "disabled", reason: "plugins.enabled is false" };
  if (deny.includes(plugin.name)) return { status: "disabled", reason: "plugins.deny names it" };
  const fault = plugin.diagnostics.find((diagnostic) => diagnostic.level === "error");
  if (fault !== undefined) return failed(`${placeText(fault)}${fault.message}`);
  return plugin.manifest === null ? failed("it has no manifest") : judgeVersion(plugin.manifest, version);
}

function judgeVersion({ requires_aegis: range }: PluginManifest, version: string): Refusal | null {
  const problem = versionProblem(range, version);
  return problem === null ? null : failed(`it requires ${problem.text}`);
}

function failed(reason: string): Refusal {
  return { status: "failed", reason };
}
