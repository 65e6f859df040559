/** Creates the drivers of all harnesses. To add one, create a folder under `drivers/` and add a line here. */
import { createAcpDriver } from "@aegis/drivers/acp/driver.ts";
import { acpRecipes } from "@aegis/drivers/acp/recipes/all.ts";
import { createClaudeCodeDriver } from "@aegis/drivers/claude-code/driver.ts";
import { createCodexDriver } from "@aegis/drivers/codex/driver.ts";
import type { Driver, DriverDeps } from "@aegis/drivers/driver.ts";
import { createNativeDriver } from "@aegis/drivers/native/driver.ts";
import type { ModelSettings } from "@aegis/drivers/native/models.ts";
import { createScriptedDriver } from "@aegis/drivers/scripted/driver.ts";

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
