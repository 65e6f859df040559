/**
 * Drives any agent that speaks the Agent Client Protocol: one process per session. Only the recipe differs between
 * agents.
 */
import { childEnv } from "@aegis/lib/child-env.ts";
import { probeProgram } from "../cli-harness/probe.ts";
import type { Capabilities, Driver, DriverDeps, Probe } from "../driver.ts";
import type { AcpRecipe } from "./recipe.ts";
import { acpSpec } from "./tool-access.ts";

const capabilities: Capabilities = {
  resume: "here",
  fork: false,
  steer: false,
  mcp: true,
  permissions: true,
  // Only for agents that report support; for others the turn fails with a reason.
  images: true,
};

export function createAcpDriver(deps: DriverDeps, recipe: AcpRecipe): Driver {
  return {
    harness: recipe.harness,
    capabilities,
    // Depends on the agent: some report prices, others at most token counts.
    costs: () => "sometimes",
    probe: (signal) => probeRecipe(deps, recipe, signal),
    async open(spec, scope) {
      // The protocol's SDK is large; a daemon without an ACP agent does not load it.
      const { openConversation } = await import("./open.ts");
      return openConversation(deps, recipe, acpSpec(spec), scope);
    },
  };
}

/** Looks for the agent's program on this machine. */
async function probeRecipe(deps: DriverDeps, recipe: AcpRecipe, signal: AbortSignal): Promise<Probe> {
  if (!recipe.commandRequired) return probeProgram(recipe.program, deps, childEnv(deps.env, recipe.passEnv), signal);
  const detail = "runs the program that an agent's command names";
  return { status: "ready", version: null, path: null, detail, fix: null };
}
