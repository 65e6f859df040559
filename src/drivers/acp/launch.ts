/** Starts the agent's process with its private settings and only the environment variables that it needs. */
import { symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { childEnv } from "../../lib/child-env.ts";
import { isErrno, makePrivateDir, writeAtomic } from "../../lib/files.ts";
import type { Child } from "../../lib/process.ts";
import { spawnFailure } from "../cli-harness/start-failure.ts";
import { type ConversationSpec, type DriverDeps, DriverError } from "../driver.ts";
import type { AcpOptions } from "./options.ts";
import type { AcpRecipe, Launch, LaunchContext } from "./recipe.ts";

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
      fix: "Set its command (and args) to a program that speaks the Agent Client Protocol on stdio.",
    });
  const plan = await recipe.launch(context);
  await prepareState(spec.stateDir, plan);
  for (const text of plan.warnings) spec.host.notice({ level: "warning", text });
  if (spec.resume !== null) await recipe.quirks.beforeResume?.(spec.resume, context);
  const command = await spec.host.prepareSpawn({
    argv: [program ?? recipe.program.command, ...before, ...(options.args ?? plan.args), ...plan.onlyPlane],
    env: childEnv(deps.env, recipe.passEnv, { ...spec.agent.env, ...plan.env }),
    cwd: spec.cwd,
  });
  const consent = await spec.host.consent();
  try {
    return await deps.processes.start(command, consent);
  } catch (error) {
    throw spawnFailure(recipe.program, command.argv[0], command.cwd, error);
  }
}

async function prepareState(stateDir: string, plan: Launch): Promise<void> {
  for (const file of plan.files) {
    const path = join(stateDir, file.name);
    await makePrivateDir(dirname(path));
    await writeAtomic(path, file.content, { mode: 0o600 });
  }
  for (const link of plan.links) {
    const path = join(stateDir, link.name);
    await makePrivateDir(dirname(path));
    await symlink(link.target, path).catch((error: unknown) => {
      // A link from an earlier start, or a file with which the agent has replaced it.
      if (!isErrno(error, "EEXIST")) throw error;
    });
  }
}
