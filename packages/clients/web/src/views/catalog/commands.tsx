import { client } from "../../app/client.ts";
import { typeBegins, useResource } from "../../app/resource.ts";
import { oneLine, visible } from "../../model/format.ts";
import { Diagnostics } from "../../parts/diagnostics.tsx";
import { Empty, Problem } from "../../parts/facts.tsx";
import { StatusWord, Table } from "../../parts/page.tsx";

export function CommandList() {
  const { data, problem } = useResource(() => client.call("listCommands"), typeBegins("plugin.", "skill.", "config."));
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  return (
    <>
      <Problem text={problem} />
      <Diagnostics found={data.diagnostics} />
      <Table
        label="Slash commands"
        rows={data.commands}
        keyOf={(one) => `${one.source} ${one.plugin} ${one.name}`}
        empty="The project has no slash commands."
        columns={[
          { name: "Command", cell: (one) => <code>/{visible(one.name)}</code> },
          { name: "Status", cell: (one) => <StatusWord status={one.status} /> },
          { name: "From", cell: (one) => <span class="dim">{one.plugin ?? one.source}</span> },
          { name: "Description", wide: true, cell: (one) => oneLine(one.reason ?? one.description, 160) },
        ]}
      />
    </>
  );
}
