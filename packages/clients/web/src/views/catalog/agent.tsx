/** One agent: problems first, where it comes from, what it may use and why, and its instructions. */
import { client } from "../../app/client.ts";
import { typeBegins, useResource } from "../../app/resource.ts";
import { link } from "../../app/router.ts";
import { oneLine, visible } from "../../model/format.ts";
import { Diagnostics, Facts, shownFile } from "../../parts/diagnostics.tsx";
import { Empty, Problem } from "../../parts/facts.tsx";
import { Markdown } from "../../parts/markdown.tsx";
import { NewSession } from "../../parts/new-session.tsx";
import { Page, Table } from "../../parts/page.tsx";

export function AgentPage({ name }: { name: string }) {
  const load = () => client.call("getAgent", { path: { agent: name } });
  const { data, problem } = useResource(load, typeBegins("plugin.", "config."));
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const { agent } = data;
  const isFile = agent.file_path !== null && agent.plugin === null && agent.source !== "config";
  const others = agent.candidates.slice(1);
  return (
    <Page
      title={visible(agent.slug)}
      tools={
        <>
          <a href={link("catalog", "agents")}>All agents</a>
          {isFile ? (
            <a class="button" href={link("catalog", "agents", agent.slug, "edit")}>
              Edit
            </a>
          ) : null}
        </>
      }
    >
      <Problem text={problem} />
      <Diagnostics found={agent.diagnostics} />
      <NewSession name={visible(agent.slug)} agent={agent.slug} />
      <p>{oneLine(agent.description, 400)}</p>
      <Facts
        facts={[
          ["Harness", agent.harness],
          ["Model", agent.model ?? "default of the harness"],
          ["Permission", agent.permission],
          ["Effort", agent.effort],
          ["From", agent.file_path === null ? agent.source : shownFile(agent.file_path)],
          ["Extends", agent.extends === null ? null : visible(agent.extends)],
          ["Skills", agent.skills === null ? "all" : agent.skills.join(", ") || "none"],
          ["MCP servers", typeof agent.mcp === "string" ? agent.mcp : agent.mcp.join(", ")],
          ["Works in", agent.isolation === "none" ? "the project's folder" : agent.isolation],
          [
            "Goes before",
            others.length === 0
              ? null
              : others.map((one) => shownFile(one.file_path ?? one.plugin ?? one.source)).join(", "),
          ],
        ]}
      />
      <h2>Tools</h2>
      {agent.scope_note === null ? null : <p class="dim">{visible(agent.scope_note)}</p>}
      <Table
        label="Tools"
        rows={agent.tools}
        keyOf={(tool) => `${tool.kind} ${tool.plugin} ${tool.name}`}
        empty="It has no tools."
        columns={[
          { name: "Tool", cell: (tool) => <code>{visible(tool.name)}</code> },
          {
            name: "May use",
            cell: (tool) => <span class={tool.allowed ? "ok" : "dim"}>{tool.allowed ? "✓ yes" : "✕ no"}</span>,
          },
          { name: "From", cell: (tool) => <span class="dim">{tool.plugin ?? tool.kind}</span> },
          { name: "Why", wide: true, cell: (tool) => oneLine(tool.reason, 200) },
        ]}
      />
      <h2>Instructions</h2>
      {agent.prompt === "" ? <Empty>It has none.</Empty> : <Markdown text={agent.prompt} />}
    </Page>
  );
}
