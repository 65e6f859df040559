/** Lets a person edit the files of agents in the web app. */

import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import type { AgentServices } from "@aegis/http/agents.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { unknownToolsOf } from "@aegis/project/agents/describe.ts";
import { editAsOwner } from "@aegis/project/trust/agree.ts";
import type { ToolTable } from "@aegis/sessions/tools/tools.ts";

export type AgentSourcesOptions = {
  root: string;
  env: Environment;
  drivers: DriverTable;
  tools: ToolTable;
  /** Applies changed files immediately instead of waiting for the file watcher. */
  reload: () => Promise<unknown>;
};

export function agentSources(options: AgentSourcesOptions): Pick<AgentServices["agents"], "source" | "check" | "save"> {
  const { root, env, drivers, tools, reload } = options;
  const project = () => ({ root, env, home: homeOf(env), harnesses: drivers.names });
  // Loaded with the first request: most daemons never edit an agent.
  const sources = () => import("@aegis/project/agents/source.ts");
  return {
    source: async (name) => (await sources()).readAgentSource(project(), name),
    async check(name, text) {
      const { profile, diagnostics } = await (await sources()).checkAgentSource(project(), name, text);
      return profile === null ? diagnostics : [...diagnostics, ...unknownToolsOf(profile, tools)];
    },
    async save(name, change) {
      const { saveAgentSource } = await sources();
      // The person wrote the text and saves it, which implies trust in what it runs.
      const saved = await editAsOwner(project(), () => saveAgentSource(project(), name, change));
      await reload();
      return saved;
    },
  };
}
