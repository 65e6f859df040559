/** Makes the engine and the workflows that are there without a plugin. */
import { join } from "node:path";
import { catalog } from "../catalog/catalog.ts";
import { EmbeddedEngine } from "../engine/embedded/engine.ts";
import type { WorkflowDeps } from "../runtime/workflows/deps.ts";
import { RunEnds } from "../runtime/workflows/run-ends.ts";
import { Workflows } from "../runtime/workflows/workflows.ts";
import type { Settings } from "./settings.ts";

export type BuildWorkflowsOptions = Omit<WorkflowDeps, "scratchDir"> & {
  stateDir: string;
  maxHops: () => number;
  settings: () => Settings;
};

export function buildWorkflows(options: BuildWorkflowsOptions): Workflows {
  const { store, clock, log, stateDir, settings } = options;
  const ends = new RunEnds(options);
  // The project's lock lets one daemon run at a time.
  const engine = new EmbeddedEngine({ store, clock, log, hooks: ends, exclusive: true });
  const workflows = new Workflows({
    ...options,
    scratchDir: join(stateDir, "scratch"),
    engine,
    ends,
    configured: () => settings().config.workflows,
  });
  for (const workflow of catalog()) workflows.add(workflow, "the catalog");
  return workflows;
}
