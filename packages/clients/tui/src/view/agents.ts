/** Agents, skills and plugins: where each comes from, and what is wrong with it. */
import { plainLine } from "@aegis/lib/plain-text.ts";
import { type ListRow, rowsOf, selectedRow } from "../rows.ts";
import type { ViewContext } from "./context.ts";
import { around, cell, column, cut, ends, fill } from "./layout.ts";

export function agentsView(cx: ViewContext, width: number, height: number): string[] {
  const { theme, model } = cx;
  const rows = rowsOf("agents", model, cx.ui);
  const selected = selectedRow(rows, cx.ui);
  const lines: { key: string | null; text: string }[] = [];
  const section = (title: string, kind: ListRow["kind"], problems: readonly string[]) => {
    const found = rows.filter((row) => row.kind === kind);
    lines.push({ key: null, text: `${theme.paint("title", title)}  ${found.length}` });
    for (const row of found) lines.push({ key: row.key, text: partRow(cx, row, width - 2) });
    for (const problem of problems)
      lines.push({ key: null, text: theme.paint("error", cell(`  ✗ ${problem}`, width)) });
  };
  const { lists } = model;
  section(
    "AGENTS",
    "agent",
    lists.agentProblems.map(({ agent, file, message }) => `${agent ?? file ?? ""}: ${message}`),
  );
  section(
    "SKILLS",
    "skill",
    lists.skillProblems.map(({ message, file }) => `${file ?? ""}: ${message}`),
  );
  section("PLUGINS", "plugin", []);
  const at = Math.max(
    0,
    lines.findIndex(({ key }) => key !== null && key === selected?.key),
  );
  const { shown } = around(lines, at, height - 3);
  const about = selected === null ? "" : aboutRow(selected);
  return fill(
    [
      ...fill(
        shown.map(({ key, text }) =>
          key === null ? cut(text, width) : key === selected?.key ? theme.paint("bold", `▸ ${text}`) : `  ${text}`,
        ),
        height - 2,
      ),
      theme.paint("dim", "─".repeat(width)),
      cell(about, width),
    ],
    height,
  );
}

function partRow({ theme }: ViewContext, row: ListRow, width: number): string {
  switch (row.kind) {
    case "agent": {
      const { agent } = row;
      const from = agent.plugin === null ? agent.source : `plugin ${agent.plugin}`;
      const marks = [...(agent.default ? ["default"] : []), ...(agent.offline ? ["offline"] : [])].join(" ");
      const model = [agent.harness, agent.model].filter(Boolean).join(" ");
      return ends(
        `${column(agent.slug, 18)} ${plainLine(model)} · ${plainLine(agent.permission)} · ${plainLine(from)}`,
        marks,
        width,
      );
    }
    case "skill": {
      const { skill } = row;
      const from = skill.plugin === null ? skill.source : `plugin ${skill.plugin}`;
      return ends(`${column(skill.name, 18)} ${plainLine(skill.description)}`, plainLine(from), width);
    }
    case "plugin": {
      const { plugin } = row;
      const isFine = plugin.status === "loaded";
      const state = isFine ? theme.paint("ok", "✓ loaded") : theme.paint("error", `✗ ${plugin.status}`);
      return ends(
        `${column(plugin.name, 18)} ${plainLine(plugin.version)} · ${plainLine(plugin.reason ?? plugin.description)}`,
        state,
        width,
      );
    }
    default:
      return "";
  }
}

function aboutRow(row: ListRow): string {
  switch (row.kind) {
    case "agent":
      return [row.agent.description, row.agent.file_path].filter(Boolean).join(" · ");
    case "skill":
      return [row.skill.file, row.skill.description].filter(Boolean).join(" · ");
    case "plugin":
      return [row.plugin.reason, row.plugin.place].filter(Boolean).join(" · ");
    default:
      return "";
  }
}
