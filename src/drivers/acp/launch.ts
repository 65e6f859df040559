/** Starts the agent's process with its private settings and nothing of the daemon's environment it has no use for. */
import { join } from "node:path";
import { childEnv } from "../../lib/child-env.ts";
import { makePrivateDir, writeAtomic } from "../../lib/files.ts";
import type { Child } from "../../lib/process.ts";
import { spawnFailure } from "../cli-harness/start-failure.ts";
import { type ConversationSpec, type DriverDeps, DriverError } from "../driver.ts";
import type { AcpOptions } from "./options.ts";
import type { AcpRecipe, LaunchContext } from "./recipe.ts";

export async function launch(
  deps: DriverDeps,
  recipe: AcpRecipe,
  options: AcpOptions,
  spec: ConversationSpec,
  context: LaunchContext,
): Promise<Child> {
  const [program, ...before] = options.command ?? [];
  if (program === undefined && recipe.commandRequired)
    throw new DriverError({
      code: "start",
      message: `agent "${spec.agent.slug}" has the harness "${recipe.harness}" but names no program`,
      fix: "Set options.command (and options.args) to a program that speaks the Agent Client Protocol on stdio.",
    });
  const plan = await recipe.launch(context);
  await makePrivateDir(spec.stateDir);
  for (const file of plan.files) await writeAtomic(join(spec.stateDir, file.name), file.content, { mode: 0o600 });
  const command = await spec.host.prepareSpawn({
    argv: [program ?? recipe.program.command, ...before, ...(options.args ?? plan.args)],
    env: childEnv(deps.env, recipe.passEnv, { ...spec.agent.env, ...plan.env }),
    cwd: spec.cwd,
  });
  try {
    return await deps.processes.start(command);
  } catch (error) {
    throw spawnFailure(recipe.program, command.argv[0], command.cwd, error);
  }
}
