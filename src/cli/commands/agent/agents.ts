/** `aegis agents`: lists the agents that can be started and the harnesses installed on this machine. */
import type { Harness } from "../../../contract/api.ts";
import { agentTable, diagnosticLine } from "../../format/agent-table.ts";
import { type Cell, columns, heading, tableOptions } from "../../format/columns.ts";
import type { Style } from "../../format/style.ts";
import type { Handler } from "../../program/command.ts";
import type { sessionCommands } from "../session/spec.ts";

export const agents: Handler<typeof sessionCommands.agents> = async (cx) => {
  const { client } = await cx.daemon();
  const [known, { harnesses }] = await Promise.all([client.call("listAgents"), client.call("listHarnesses")]);
  cx.show({ ...known, harnesses }, () => {
    cx.tell(agentTable(known.agents, tableOptions(cx)));
    for (const one of known.diagnostics) cx.warn(diagnosticLine(one, cx.cwd, cx.style));
    return ["", ...harnessLines(harnesses, cx.style, cx.columns)];
  });
};

function harnessLines(harnesses: readonly Harness[], style: Style, width: number): string[] {
  const header = heading(style, ["HARNESS", "STATE", "VERSION", "FOUND"]);
  const rows = harnesses
    .filter(({ status }) => status !== "missing")
    .map(({ harness, status, version, path, detail }): Cell[] => [
      { text: harness, paint: style.cyan },
      { text: status, paint: status === "ready" ? style.green : style.red },
      { text: version ?? "-" },
      { text: status === "ready" ? (path ?? detail) : detail },
    ]);
  const missing = harnesses.filter(({ status }) => status === "missing").map(({ harness }) => harness);
  const rest =
    missing.length === 0
      ? []
      : [style.dim(`not installed: ${missing.join(", ")}; aegis doctor explains how to install them`)];
  return [...columns(header, rows, width), ...rest];
}
