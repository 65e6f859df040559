/** Builds the workflow engine and the bundled workflows. */
import { join } from "node:path";
import { catalog } from "../catalog/catalog.ts";
import { EmbeddedEngine } from "../engine/embedded/engine.ts";
import type { Settings } from "../project/settings.ts";
import type { ConsentCheck } from "../project/trust/judge.ts";
import type { WorkflowDeps } from "../runtime/workflows/deps.ts";
import { RunEnds } from "../runtime/workflows/run-ends.ts";
import { Workflows } from "../runtime/workflows/workflows.ts";
import { runOwner } from "../store/sql/nodes.ts";

export type BuildWorkflowsOptions = Omit<WorkflowDeps, "scratchDir" | "subagentSettings" | "consent"> & {
  judge: ConsentCheck;
  stateDir: string;
  maxHops: () => number;
  settings: () => Settings;
  signal: AbortSignal;
};

export function buildWorkflows(options: BuildWorkflowsOptions): Workflows {
  const { store, clock, log, stateDir, settings, judge, signal } = options;
  const ends = new RunEnds(options);
  const { membership } = store;
  // Without a cluster, the project lock ensures that only one daemon runs.
  const engine = new EmbeddedEngine({
    ...{ store, clock, log, hooks: ends, signal, exclusive: membership === undefined },
    incarnation: membership === undefined ? undefined : runOwner(membership.node, membership.incarnation),
  });
  const workflows = new Workflows({
    ...options,
    subagentSettings: () => settings().config.subagents,
    scratchDir: join(stateDir, "scratch"),
    consent: ({ name, plugin }) => judge.workflow(name, plugin === null ? null : judge.loadedPlugin(plugin)),
    engine,
    ends,
    configured: () => settings().config.workflows,
  });
  for (const workflow of catalog()) workflows.add(workflow, "the catalog");
  return workflows;
}
