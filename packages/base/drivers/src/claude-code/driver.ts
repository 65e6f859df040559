/** Drives the Claude Code CLI over its stream-json protocol: one process per conversation. */
import { parseCliOptions } from "../cli-harness/options.ts";
import { probeProgram } from "../cli-harness/probe.ts";
import type { Driver, DriverDeps } from "../driver.ts";
import { buildEnv } from "./command.ts";
import { claudeCodeFacts, program } from "./facts.ts";

export function createClaudeCodeDriver(deps: DriverDeps): Driver {
  return {
    harness: claudeCodeFacts.harness,
    capabilities: { resume: "here", fork: true, steer: true, mcp: true, permissions: true, images: true },
    costs: () => "told",
    probe: (signal) => probeProgram(program, deps, buildEnv(deps.env, {}), signal),
    async open(spec, scope) {
      // A daemon without a session of this harness does not load the rest.
      const { ClaudeConversation } = await import("./conversation.ts");
      const conversation = new ClaudeConversation(spec, parseCliOptions(spec.agent, program.command), deps);
      scope.defer(() => conversation.close());
      await conversation.start();
      return conversation;
    },
  };
}
