/** Looks for an agent's program on this machine. */
import { childEnv } from "../../lib/child-env.ts";
import { probeProgram } from "../cli-harness/probe.ts";
import type { DriverDeps, Probe } from "../driver.ts";
import type { AcpRecipe } from "./recipe.ts";

export async function probeRecipe(deps: DriverDeps, recipe: AcpRecipe, signal: AbortSignal): Promise<Probe> {
  if (!recipe.commandRequired) return probeProgram(recipe.program, deps, childEnv(deps.env, recipe.passEnv), signal);
  const detail = "runs the program that an agent's command names";
  return { status: "ready", version: null, path: null, detail, fix: null };
}
