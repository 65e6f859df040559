/** The agents of a project for the API: shows them, and lets a person edit their files in the web app. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import type { AgentServices } from "@aegis/http/agents.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { agentDiagnostics, describeAgent, unknownToolsOf } from "@aegis/project/agents/describe.ts";
import type { ConfigService } from "@aegis/project/config-service.ts";
import { editAsOwner } from "@aegis/project/trust/agree.ts";
import type { ToolTable } from "@aegis/sessions/tools/tools.ts";

export type AgentServiceOptions = {
  root: string;
  env: Environment;
  drivers: DriverTable;
  agents: AgentTable;
  tools: ToolTable;
  configService: ConfigService;
};

export function agentService(options: AgentServiceOptions): AgentServices["agents"] {
  const { root, env, drivers, agents, tools, configService } = options;
  const described = {
    root,
    home: homeOf(env),
    agents,
    tools,
    drivers,
    config: () => configService.settings().config,
    fileDiagnostics: () => configService.settings().diagnostics,
  };
  const project = () => ({ root, env, home: homeOf(env), harnesses: drivers.names });
  // Loaded with the first request: most daemons never edit an agent.
  const sources = () => import("@aegis/project/agents/source.ts");
  return {
    list: () => agents.listAgents(),
    diagnostics: () => agentDiagnostics(described),
    describe: (reference) => describeAgent(described, reference),
    source: async (name) => (await sources()).readAgentSource(project(), name),
    async check(name, text) {
      const { profile, diagnostics } = await (await sources()).checkAgentSource(project(), name, text);
      return profile === null ? diagnostics : [...diagnostics, ...unknownToolsOf(profile, tools)];
    },
    async save(name, change) {
      const { saveAgentSource } = await sources();
      // The person wrote the text and saves it, which implies trust in what it runs.
      const saved = await editAsOwner(project(), () => saveAgentSource(project(), name, change));
      // Immediately, instead of when the file watcher sees it.
      await configService.reload();
      return saved;
    },
  };
}
