/** Drives Codex through its app server: one thread per conversation. */
import { parseCliOptions } from "../cli-harness/options.ts";
import { probeProgram } from "../cli-harness/probe.ts";
import type { Driver, DriverDeps } from "../driver.ts";
import { AppServers } from "./app-servers.ts";
import { buildEnv, program } from "./command.ts";
import { CodexConversation } from "./conversation.ts";
import { codexSpec } from "./tool-access.ts";
import { harness } from "./translate.ts";

export function createCodexDriver(deps: DriverDeps): Driver {
  const servers = new AppServers(deps);
  return {
    harness,
    capabilities: { resume: "here", fork: true, steer: true, mcp: true, permissions: true, images: true },
    costs: () => "untold",
    probe: (signal) => probeProgram(program, deps, buildEnv(deps.env, {}), signal),
    async open(spec, scope) {
      const conversation = new CodexConversation(codexSpec(spec), parseCliOptions(spec.agent, program.command), deps);
      scope.defer(() => conversation.close());
      await conversation.start(servers);
      return conversation;
    },
  };
}
