/** Drives any agent that speaks the Agent Client Protocol: one process per session, told apart only by its recipe. */
import type { Capabilities, Driver, DriverDeps } from "../driver.ts";
import { probeRecipe } from "./probe.ts";
import type { AcpRecipe } from "./recipe.ts";
import { acpSpec } from "./scope.ts";

const capabilities: Capabilities = {
  resume: true,
  fork: false,
  steer: false,
  mcp: true,
  permissions: true,
  // Of those whose agent says so; the others fail the turn and say why.
  images: true,
};

export function createAcpDriver(deps: DriverDeps, recipe: AcpRecipe): Driver {
  return {
    harness: recipe.harness,
    capabilities,
    // Only its agent knows: some price their calls, others count tokens at most.
    costs: () => "sometimes",
    probe: (signal) => probeRecipe(deps, recipe, signal),
    async open(spec, scope) {
      // The protocol's SDK is large; a daemon without an ACP agent does without it.
      const { openConversation } = await import("./open.ts");
      return openConversation(deps, recipe, acpSpec(spec), scope);
    },
  };
}
