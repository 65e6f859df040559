/** Lets a person edit the files of agents in the web app. */
import type { Environment } from "../lib/child-env.ts";
import { homeOf } from "../lib/home.ts";
import { unknownToolsOf } from "../project/agents/describe.ts";
import { editAsOwner } from "../project/trust/agree.ts";
import type { DriverTable } from "../runtime/tables/drivers.ts";
import type { ToolTable } from "../runtime/tables/tools.ts";
import type { AgentServices } from "../server/agents.ts";

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
  const sources = () => import("../project/agents/source.ts");
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
