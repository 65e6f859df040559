/** `aegis agents`: who can be started, and which harnesses there are on this machine to run them. */
import type { Harness } from "../../contract/api.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { agentTable, diagnosticLine } from "../format/agent-table.ts";
import { type Cell, columns } from "../format/columns.ts";
import { createStyle, type Style } from "../format/style.ts";
import type { Terminal } from "../terminal.ts";

export async function agents(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const [known, { harnesses }] = await Promise.all([client.call("listAgents"), client.call("listHarnesses")]);
  if (cx.json) {
    cx.printJson({ ...known, harnesses });
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  for (const line of agentTable(known.agents, { color: cx.color, width: cx.columns })) cx.print(line);
  for (const one of known.diagnostics) cx.warn(diagnosticLine(one, cx.cwd, style));
  cx.print("");
  for (const line of harnessLines(harnesses, style, cx.columns)) cx.print(line);
  return exitCodes.ok;
}

function harnessLines(harnesses: readonly Harness[], style: Style, width: number): string[] {
  const header: Cell[] = ["HARNESS", "STATE", "VERSION", "FOUND"].map((text) => ({ text, paint: style.dim }));
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
    missing.length === 0 ? [] : [style.dim(`not here: ${missing.join(", ")}; aegis doctor says how to get one`)];
  return [...columns(header, rows, width), ...rest];
}
