/** Applies changed settings to the parts of a running daemon. */
import type { NewEvent } from "@aegis/contract/event.ts";
import type { Runtime } from "./build.ts";
import type { OpenProject } from "./open-project.ts";

/** Applies new settings and records the result, including a refusal. */
export function followSettings({ configService, store, clock }: OpenProject, runtime: Runtime): void {
  const record = (event: NewEvent) => store.transact((tx) => tx.events.append(event, clock.now()));
  runtime.agents.explainWith(() => configService.problems);
  configService.onChange(async ({ agents, choice, refusal }, problems) => {
    if (problems.length > 0) {
      await record({ type: "config.rejected", session: null, data: { problems } });
      return;
    }
    runtime.agents.replace(agents, choice, refusal);
    runtime.skills.settingsChanged();
    runtime.tools.settingsChanged();
    void runtime.plugins.plugins.reload().catch(() => {});
    // Before the schedules: whether this node stores them depends on the settings of all nodes.
    await runtime.cluster?.describe();
    await runtime.queues.settingsChanged();
    await runtime.schedules.settingsChanged();
    await runtime.channels.channels.settingsChanged();
    const data = { agents: runtime.agents.listAgents().map((agent) => agent.slug), default_agent: choice.slug };
    await record({ type: "config.reloaded", session: null, data });
  });
}
