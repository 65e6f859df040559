/** Opens conversations with Codex. Those with equal settings share an app server. */
import { parseCliOptions } from "../cli-harness/options.ts";
import type { Driver, DriverDeps } from "../driver.ts";
import { AppServers } from "./app-servers.ts";
import { program } from "./command.ts";
import { CodexConversation } from "./conversation.ts";
import { codexSpec } from "./tool-access.ts";

export function openerOf(deps: DriverDeps): Driver["open"] {
  const servers = new AppServers(deps);
  return async (spec, scope) => {
    const conversation = new CodexConversation(codexSpec(spec), parseCliOptions(spec.agent, program.command), deps);
    scope.defer(() => conversation.close());
    await conversation.start(servers);
    return conversation;
  };
}
