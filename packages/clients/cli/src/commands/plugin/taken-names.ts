/** The names that the plugins of a running daemon use, so that a new plugin can be checked for conflicts. */
import type { TakenNames } from "@aegis/contract/plugin.ts";
import { findDaemon } from "../../daemon/connection.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** Empty if no daemon runs. */
export async function takenNames(cx: Terminal): Promise<TakenNames[]> {
  const running = await findDaemon(cx);
  if (running === null) return [];
  const { plugins } = await running.client.call("listPlugins");
  const loaded = plugins.filter(({ status }) => status === "loaded" || status === "restarting");
  return Promise.all(
    loaded.map(async ({ name }) => {
      const { brings } = (await running.client.call("getPlugin", { path: { plugin: name } })).plugin;
      return {
        plugin: name,
        tools: brings.tools.map((tool) => tool.name),
        workflows: brings.workflows.map((one) => one.name),
      };
    }),
  );
}
