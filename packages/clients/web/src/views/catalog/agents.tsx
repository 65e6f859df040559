/** All agents, and a field that creates one. */
import { useState } from "preact/hooks";
import { client } from "../../app/client.ts";
import { typeBegins, useResource } from "../../app/resource.ts";
import { go, link } from "../../app/router.ts";
import { oneLine, visible } from "../../model/format.ts";
import { Diagnostics } from "../../parts/diagnostics.tsx";
import { Empty, Problem } from "../../parts/facts.tsx";
import { Table } from "../../parts/page.tsx";

export function AgentList() {
  const { data, problem } = useResource(() => client.call("listAgents"), typeBegins("plugin.", "config."));
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  return (
    <>
      <Problem text={problem} />
      <Diagnostics
        found={data.diagnostics}
        action={({ agent, plugin, file }) =>
          agent === null || plugin !== null || file === null ? null : (
            <a href={link("catalog", "agents", agent, "edit")}>Edit</a>
          )
        }
      />
      <NewAgent />
      <Table
        label="Agents"
        rows={data.agents}
        keyOf={(one) => `${one.source} ${one.plugin} ${one.slug}`}
        empty="The project has no agents."
        columns={[
          {
            name: "Agent",
            cell: (one) => (
              <>
                <a href={link("catalog", "agents", one.slug)}>{visible(one.slug)}</a>{" "}
                {one.default ? <span class="badge">default</span> : null}
              </>
            ),
          },
          { name: "Harness", cell: (one) => one.harness },
          { name: "Model", cell: (one) => one.model ?? <span class="dim">default of the harness</span> },
          { name: "Permission", cell: (one) => one.permission },
          { name: "From", cell: (one) => <span class="dim">{one.plugin ?? one.source}</span> },
          { name: "Description", wide: true, cell: (one) => oneLine(one.description, 160) },
        ]}
      />
    </>
  );
}

function NewAgent() {
  const [name, setName] = useState("");
  return (
    <form
      class="new"
      onSubmit={(event) => {
        event.preventDefault();
        go("catalog", "agents", name.trim(), "edit");
      }}
    >
      <input
        aria-label="Name of a new agent"
        placeholder="New agent: a name such as reviewer"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="submit" disabled={name.trim() === ""}>
        Create
      </button>
    </form>
  );
}
