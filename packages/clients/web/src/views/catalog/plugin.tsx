/** One plugin: problems first, what it brings, and its update and removal. */

import type { PluginDetail } from "@aegis/contract/plugin.ts";
import { useState } from "preact/hooks";
import { client } from "../../app/client.ts";
import { orRefused } from "../../app/refusal.ts";
import { typeBegins, useResource } from "../../app/resource.ts";
import { link } from "../../app/router.ts";
import { oneLine, visible } from "../../model/format.ts";
import { Diagnostics, Facts, shownFile } from "../../parts/diagnostics.tsx";
import { Empty, Problem } from "../../parts/facts.tsx";
import { Page, StatusWord, Table } from "../../parts/page.tsx";
import { PluginConsent, usePluginChange } from "./plugins.tsx";

export function PluginPage({ name }: { name: string }) {
  const load = async () => {
    const [{ plugins }, installed] = await Promise.all([
      client.call("listPlugins"),
      client.call("listInstalledPlugins"),
    ]);
    const isHere = plugins.some((one) => one.name === name);
    const entry = installed.plugins.find((one) => one.name === name) ?? null;
    return { plugin: isHere ? (await client.call("getPlugin", { path: { plugin: name } })).plugin : null, entry };
  };
  const { data, problem } = useResource(load, typeBegins("plugin.", "config."));
  const change = usePluginChange();
  const [label, setLabel] = useState("Update");
  const [purge, setPurge] = useState(false);
  const begin = (action: "updatePlugin" | "removePlugin", word: string) => {
    setLabel(word);
    change.begin(({ accept, override }) => {
      const more = accept === undefined ? {} : { accept };
      const path = { plugin: name };
      return action === "updatePlugin"
        ? orRefused(client.call("updatePlugin", { path, body: override === undefined ? more : { ...more, override } }))
        : client.call("removePlugin", { path, body: { purge, ...more } });
    });
  };
  if (data === null && change.done === null)
    return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const isGone = change.done?.outcome === "removed";
  const busy = change.action.busy.value;
  return (
    <Page
      title={visible(data?.plugin?.title ?? name)}
      tools={
        <>
          <a href={link("catalog", "plugins")}>All plugins</a>
          {data?.entry == null || isGone ? null : (
            <>
              <button type="button" disabled={busy} onClick={() => begin("updatePlugin", "Update")}>
                Update
              </button>
              <label class="inline check-line">
                <input type="checkbox" checked={purge} onInput={(event) => setPurge(event.currentTarget.checked)} />
                with its data
              </label>
              <button type="button" class="danger" disabled={busy} onClick={() => begin("removePlugin", "Remove")}>
                Remove
              </button>
            </>
          )}
        </>
      }
    >
      <Problem text={change.action.problem.value} />
      <PluginConsent change={change} confirmLabel={label} />
      {isGone || data === null ? null : data.plugin === null ? (
        <Empty>There is no plugin of this name.</Empty>
      ) : (
        <Detail plugin={data.plugin} source={data.entry?.source ?? null} />
      )}
    </Page>
  );
}

function Detail({ plugin, source }: { plugin: PluginDetail; source: string | null }) {
  const { brings } = plugin;
  const failures = plugin.hook_failures.map((one) => ({
    message: `hook ${one.event} (${one.hook}) failed ${one.count} times: ${one.error}`,
  }));
  return (
    <>
      {plugin.reason === null ? null : <p class="warn">{visible(plugin.reason)}</p>}
      <Diagnostics found={[...plugin.diagnostics, ...failures]} />
      <p>{oneLine(plugin.description, 400)}</p>
      <Facts
        facts={[
          ["Status", <StatusWord key="status" status={plugin.status} />],
          ["Version", visible(plugin.version)],
          ["From", visible(source ?? "its folder; it was not installed")],
          ["Folder", shownFile(plugin.place)],
          [
            "Needs",
            Object.entries(plugin.requires)
              .map((one) => one.join(" "))
              .join(", "),
          ],
          ["Gates", plugin.guard?.hooks.join(", ") ?? null],
          ["Hooks", brings.hooks.map((hook) => `${hook.event} (${hook.name})`).join(", ")],
          ["Workflows", brings.workflows.map((one) => one.name).join(", ")],
          ["Agents", brings.agents.join(", ")],
          ["Skills", brings.skills.join(", ")],
          ["Commands", brings.commands.map((one) => `/${one.name}`).join(", ")],
          ["Has no effect here", plugin.unsupported.map(({ part, reason }) => `${part}: ${reason}`).join("; ")],
        ]}
      />
      {brings.tools.length === 0 ? null : (
        <>
          <h2>Tools</h2>
          <Table
            label="Tools"
            rows={brings.tools}
            keyOf={(tool) => tool.name}
            empty=""
            columns={[
              { name: "Tool", cell: (tool) => <code>{visible(tool.name)}</code> },
              { name: "Needs", cell: (tool) => tool.permission },
              { name: "What it does", wide: true, cell: (tool) => oneLine(tool.description, 200) },
            ]}
          />
        </>
      )}
      {plugin.settings.length === 0 ? null : (
        <>
          <h2>Settings</h2>
          <Table
            label="Settings"
            rows={plugin.settings}
            keyOf={(setting) => setting.key}
            empty=""
            columns={[
              { name: "Setting", cell: (setting) => <code>{visible(setting.key)}</code> },
              { name: "Value", cell: (setting) => valueText(setting) },
              { name: "Meaning", wide: true, cell: (setting) => oneLine(setting.description, 200) },
            ]}
          />
        </>
      )}
    </>
  );
}

function valueText({ value, secret }: PluginDetail["settings"][number]): string {
  if (secret) return "secret";
  return value === undefined || value === null ? "" : oneLine(JSON.stringify(value), 80);
}
