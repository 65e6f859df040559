/** Creates the drivers of all harnesses. To add one, create a folder under `drivers/` and add a line here. */
import { createAcpDriver } from "../../drivers/acp/driver.ts";
import { acpRecipes } from "../../drivers/acp/recipes/all.ts";
import { createClaudeCodeDriver } from "../../drivers/claude-code/driver.ts";
import { createCodexDriver } from "../../drivers/codex/driver.ts";
import type { Driver, DriverDeps } from "../../drivers/driver.ts";
import { createNativeDriver } from "../../drivers/native/driver.ts";
import type { ModelSettings } from "../../drivers/native/models.ts";
import { createScriptedDriver } from "../../drivers/scripted/driver.ts";

/** `models` is a function because the settings may change while the daemon runs. */
export function createDrivers(deps: DriverDeps, models: () => ModelSettings): Driver[] {
  const nativeDeps = {
    ...deps,
    get models() {
      return models();
    },
  };
  return [
    createClaudeCodeDriver(deps),
    createCodexDriver(deps),
    ...acpRecipes.map((recipe) => createAcpDriver(deps, recipe)),
    createNativeDriver(nativeDeps),
    createScriptedDriver(deps),
  ];
}
