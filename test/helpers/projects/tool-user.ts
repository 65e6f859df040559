/** A project whose offline agent calls whichever tool it is told to, for tests of plugins. */
import type { Client } from "@aegis/client/client.ts";
import type { PluginView } from "@aegis/contract/plugin.ts";
import { createSession, talk } from "../talk.ts";
import { waitUntil } from "../wait-until.ts";

export const toolUser = {
  ".aegis.yaml":
    "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml, permission: full }\n",
  "playbook.yaml": `
rules:
  - name: use a tool that takes no input
    when: '/use (\\S+) nothing/'
    steps: [{ tool: "{1}", input: {}, save: out }, { say: "{out}" }]
  - name: use a tool
    when: '/use (\\S+) (\\S+)/'
    steps:
      - tool: "{1}"
        input: { value: "{2}" }
        save: out
      - say: "{out}"
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
};

export async function pluginNamed(client: Client, name: string): Promise<PluginView> {
  const { plugins } = await client.call("listPlugins");
  const found = plugins.find((plugin) => plugin.name === name);
  if (found === undefined) throw new Error(`no plugin ${name} among ${plugins.map((one) => one.name).join(", ")}`);
  return found;
}

/** Has an agent call the tool; what it answered. */
export async function useTool(client: Client, tool: string, value = "x"): Promise<string> {
  const session = await createSession(client);
  return talk(client, session.id, `use ${tool} ${value}`);
}

export async function untilPlugin(client: Client, name: string, is: (plugin: PluginView) => boolean): Promise<void> {
  await waitUntil(`the plugin ${name} is as expected`, async () => is(await pluginNamed(client, name)), 20_000);
}
