/** Every harness. To add one, create its folder and add a line here; for a program behind ACP, in `acp/recipes/all.ts`. */
import { createAcpDriver } from "./acp/driver.ts";
import { acpRecipes } from "./acp/recipes/all.ts";
import { createClaudeCodeDriver } from "./claude-code/driver.ts";
import { claudeCodeFacts } from "./claude-code/facts.ts";
import { createCodexDriver } from "./codex/driver.ts";
import { codexFacts } from "./codex/facts.ts";
import type { Driver, DriverDeps } from "./driver.ts";
import type { HarnessFacts, ProjectFile } from "./harness.ts";
import { createNativeDriver } from "./native/driver.ts";
import { nativeFacts } from "./native/facts.ts";
import type { ModelSettings } from "./native/models.ts";
import { createScriptedDriver } from "./scripted/driver.ts";
import { scriptedFacts } from "./scripted/facts.ts";

type Deps = DriverDeps & { readonly models: ModelSettings };

type Harness = { readonly facts: HarnessFacts; readonly create: (deps: Deps) => Driver };

const all: readonly Harness[] = [
  { facts: claudeCodeFacts, create: createClaudeCodeDriver },
  { facts: codexFacts, create: createCodexDriver },
  ...acpRecipes.map((recipe): Harness => ({ facts: recipe, create: (deps) => createAcpDriver(deps, recipe) })),
  { facts: nativeFacts, create: createNativeDriver },
  { facts: scriptedFacts, create: createScriptedDriver },
];

/** What each driver says about its harness. */
export const harnesses: readonly HarnessFacts[] = all.map(({ facts }) => facts);

const byName: ReadonlyMap<string, HarnessFacts> = new Map(harnesses.map((facts) => [facts.harness, facts]));

/** Null for a name that no driver has. */
export function factsOf(harness: string): HarnessFacts | null {
  return byName.get(harness) ?? null;
}

/** A project file, with the harnesses that read it. */
export type HarnessFile = ProjectFile & { readonly harnesses: readonly string[] };

/** The project files of all harnesses, each path once. */
export function projectFilesOf(facts: readonly HarnessFacts[]): readonly HarnessFile[] {
  const any = facts.filter(({ projectFiles }) => projectFiles === "any").map(({ harness }) => harness);
  const files = new Map<string, ProjectFile & { harnesses: string[] }>();
  for (const { harness, projectFiles } of facts)
    for (const file of projectFiles === "any" ? [] : projectFiles) {
      const known = files.get(file.path);
      if (known === undefined) files.set(file.path, { ...file, harnesses: [harness] });
      else known.harnesses.push(harness);
    }
  return [...files.values()].map((file) => ({ ...file, harnesses: [...file.harnesses, ...any] }));
}

/** `models` is a function because the settings may change while the daemon runs. */
export function createDrivers(deps: DriverDeps, models: () => ModelSettings): Driver[] {
  const withModels: Deps = {
    ...deps,
    get models() {
      return models();
    },
  };
  return all.map(({ create }) => create(withModels));
}
