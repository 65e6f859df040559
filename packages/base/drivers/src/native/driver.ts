/** The native driver: Aegis's own agent loop over a model API. */
import type { Capabilities, Driver, DriverDeps } from "../driver.ts";
import { probeNative } from "./detect.ts";
import { nativeFacts } from "./facts.ts";
import { costsOf, type ModelSettings } from "./models.ts";

export type NativeDriverDeps = DriverDeps & { models: ModelSettings };

const capabilities: Capabilities = {
  resume: "anywhere",
  // The memory of the other conversation is passed in.
  fork: true,
  steer: true,
  mcp: false,
  permissions: true,
  images: true,
};

export function createNativeDriver(deps: NativeDriverDeps): Driver {
  return {
    harness: nativeFacts.harness,
    capabilities,
    costs: ({ model }) => costsOf(model, deps.models, deps.env),
    probe: (signal) => probeNative(deps.env, deps.models, globalThis.fetch, signal),
    async open(spec, scope) {
      // A daemon without a session of this harness does not load the rest.
      const { openConversation } = await import("./open.ts");
      return openConversation(deps, spec, scope);
    },
  };
}
