/** Drives Codex through its app server: one thread per conversation. */
import { probeProgram } from "../cli-harness/probe.ts";
import type { Driver, DriverDeps } from "../driver.ts";
import { buildEnv } from "./command.ts";
import { codexFacts, program } from "./facts.ts";

export function createCodexDriver(deps: DriverDeps): Driver {
  let opening: Promise<Driver["open"]> | null = null;
  return {
    harness: codexFacts.harness,
    capabilities: { resume: "here", fork: true, steer: true, mcp: true, permissions: true, images: true },
    costs: () => "untold",
    probe: (signal) => probeProgram(program, deps, buildEnv(deps.env, {}), signal),
    async open(spec, scope) {
      // A daemon without a session of this harness does not load the rest.
      opening ??= import("./conversation.ts").then(({ openerOf }) => openerOf(deps));
      return (await opening)(spec, scope);
    },
  };
}
