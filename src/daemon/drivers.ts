/** Every harness this daemon can drive. Adding one is a folder under `drivers/` and a line here. */
import type { Driver, DriverDeps } from "../drivers/driver.ts";
import { createScriptedDriver } from "../drivers/scripted/driver.ts";

export function createDrivers(deps: DriverDeps): Driver[] {
  return [createScriptedDriver(deps)];
}
