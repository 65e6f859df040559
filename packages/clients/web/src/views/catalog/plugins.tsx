/** All plugins, and the form that installs one. */

import type { PluginChange, RegistryPlugin } from "@aegis/contract/plugin-install.ts";
import { useState } from "preact/hooks";
import { useAction } from "../../app/busy.ts";
import { client } from "../../app/client.ts";
import { useChange } from "../../app/consent.ts";
import { orRefused, type RefusedAnswer } from "../../app/refusal.ts";
import { typeBegins, useResource } from "../../app/resource.ts";
import { link } from "../../app/router.ts";
import { oneLine, plural, visible } from "../../model/format.ts";
import { Consent, Lines } from "../../parts/consent.tsx";
import { Diagnostics } from "../../parts/diagnostics.tsx";
import { Empty, Problem } from "../../parts/facts.tsx";
import { StatusWord, Table } from "../../parts/page.tsx";
import { Refused } from "../../parts/refused.tsx";

const load = async () => {
  const [{ plugins, missing_gates: missing }, installed] = await Promise.all([
    client.call("listPlugins"),
    client.call("listInstalledPlugins"),
  ]);
  return { plugins, missing, installed: new Map(installed.plugins.map((one) => [one.name, one])) };
};

export function PluginList() {
  const { data, problem, reload } = useResource(load, typeBegins("plugin.", "config."));
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const { plugins, missing, installed } = data;
  return (
    <>
      <Problem text={problem} />
      <Diagnostics
        found={missing.map((one) => ({
          message: `${one.plugin} is missing its gates (${one.hooks.join(", ")}): ${one.reason}. What they guarded is refused.`,
        }))}
      />
      <Table
        label="Plugins"
        rows={plugins}
        keyOf={(one) => one.place}
        empty="No plugins are installed."
        columns={[
          {
            name: "Plugin",
            cell: (one) => <a href={link("catalog", "plugins", one.name)}>{visible(one.title ?? one.name)}</a>,
          },
          { name: "Status", cell: (one) => <StatusWord status={one.status} /> },
          { name: "Version", cell: (one) => one.version },
          {
            name: "From",
            cell: (one) => {
              const entry = installed.get(one.name);
              return <span class="dim">{oneLine(entry?.registry ?? entry?.source ?? "its folder", 60)}</span>;
            },
          },
          {
            name: "About",
            wide: true,
            cell: (one) =>
              one.reason === null ? (
                oneLine(one.description, 160)
              ) : (
                <span class="warn">{oneLine(one.reason, 200)}</span>
              ),
          },
        ]}
      />
      <InstallPlugin changed={reload} known={new Set(plugins.map(({ name }) => name))} />
    </>
  );
}

function InstallPlugin({ changed, known }: { changed: () => void; known: ReadonlySet<string> }) {
  const [name, setName] = useState("");
  const [from, setFrom] = useState("");
  const [force, setForce] = useState(false);
  const change = usePluginChange();
  const begin = (wanted: { name: string; from?: string }) =>
    change.begin(async (consented) => {
      const answer = await orRefused(client.call("installPlugin", { body: { ...wanted, force, ...consented } }));
      if (answer.outcome !== "consent" && answer.outcome !== "refused") changed();
      return answer;
    });
  return (
    <>
      <h2>Install a plugin</h2>
      <form
        class="fields"
        aria-label="Install a plugin"
        onSubmit={(event) => {
          event.preventDefault();
          begin({ name: name.trim(), ...(from.trim() === "" ? {} : { from: from.trim() }) });
        }}
      >
        <label>
          <span>Name</span>
          <input required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          <span>
            Source <span class="dim">an absolute path, gh:owner/repo or git+URL; empty: the registries</span>
          </span>
          <input value={from} onInput={(event) => setFrom(event.currentTarget.value)} />
        </label>
        <label class="check-line">
          <input type="checkbox" checked={force} onInput={(event) => setForce(event.currentTarget.checked)} />
          Replace a plugin of this name
        </label>
        <div class="buttons">
          <button type="submit" disabled={change.action.busy.value || name.trim() === ""}>
            Look at it first
          </button>
          {change.action.busy.value ? <span class="dim">Fetching and scanning…</span> : null}
        </div>
        <Problem text={change.action.problem.value} />
      </form>
      <PluginConsent change={change} confirmLabel="Install" />
      <Registry known={known} choose={(one) => begin({ name: one.name })} />
    </>
  );
}

export function usePluginChange() {
  return useChange<PluginChange | RefusedAnswer>((answer) => {
    if (answer.outcome === "refused") return "";
    return answer.outcome === "consent" ? answer.digest : null;
  });
}

/** What the change would do, and afterwards what it did. */
export function PluginConsent(props: { change: ReturnType<typeof usePluginChange>; confirmLabel: string }) {
  const { change, confirmLabel } = props;
  const { shown, done } = change;
  if (shown?.outcome === "refused") return <Refused answer={shown} change={change} />;
  if (shown !== null)
    return (
      <Consent
        question={shown.question ?? ""}
        confirmLabel={confirmLabel}
        lines={shown.lines}
        findings={shown.findings}
        change={change}
      />
    );
  if (done === null || done.outcome === "refused") return null;
  return (
    <section class="consent" aria-label="Result" role="status">
      <h2>
        {visible(done.plugin)} {visible(done.version ?? "")} is {done.outcome}
      </h2>
      {done.problem === null ? null : <p class="err">The daemon does not run it: {visible(done.problem)}</p>}
      <Lines lines={done.lines} />
    </section>
  );
}

function Registry(props: { known: ReadonlySet<string>; choose: (one: RegistryPlugin) => void }) {
  const action = useAction();
  const [found, setFound] = useState<{ plugins: RegistryPlugin[]; problems: string[] } | null>(null);
  return (
    <>
      <div class="buttons">
        <button
          type="button"
          disabled={action.busy.value}
          onClick={() =>
            void action.run(async () => setFound(await client.call("searchPlugins", { query: { q: "" } })))
          }
        >
          List the registries
        </button>
        {found === null ? null : <span class="dim">{plural(found.plugins.length, "plugin")}</span>}
      </div>
      <Problem text={action.problem.value} />
      {found === null ? null : (
        <>
          <Diagnostics found={found.problems.map((message) => ({ message }))} />
          <Table
            label="Plugins of the registries"
            rows={found.plugins}
            keyOf={(one) => `${one.registry} ${one.name}`}
            empty="The registries have no plugins."
            columns={[
              { name: "Plugin", cell: (one) => <b>{visible(one.name)}</b> },
              { name: "Version", cell: (one) => visible(one.version ?? "") },
              { name: "Registry", cell: (one) => <span class="dim">{oneLine(one.registry, 60)}</span> },
              { name: "About", wide: true, cell: (one) => oneLine(one.description, 160) },
              {
                name: "",
                cell: (one) =>
                  props.known.has(one.name) ? (
                    <span class="dim">here</span>
                  ) : (
                    <button type="button" aria-label={`Look at ${one.name}`} onClick={() => props.choose(one)}>
                      Look
                    </button>
                  ),
              },
            ]}
          />
        </>
      )}
    </>
  );
}
