/** The rows of each list screen that a person can select, in the order of the screen. */

import type { Card } from "@aegis/client/model/board.ts";
import type { Hop } from "@aegis/client/model/flow.ts";
import type { AgentSummary } from "@aegis/contract/agent.ts";
import type { GroupView } from "@aegis/contract/group.ts";
import type { OpenNeed } from "@aegis/contract/need.ts";
import type { PluginView } from "@aegis/contract/plugin.ts";
import type { SkillView } from "@aegis/contract/skill.ts";
import { type DashboardRow, dashboard } from "./facts/dashboard.ts";
import { needsYou, type OpenAsk, otherNeeds } from "./facts/needs-you.ts";
import { teamTree } from "./facts/team.ts";
import type { Model } from "./model.ts";
import type { ScreenName, Ui } from "./ui.ts";

export type ListRow =
  | DashboardRow
  | { readonly kind: "ask"; readonly key: string; readonly open: OpenAsk }
  | { readonly kind: "need"; readonly key: string; readonly need: OpenNeed }
  | { readonly kind: "session"; readonly key: string; readonly session: Card }
  | { readonly kind: "group"; readonly key: string; readonly group: GroupView }
  | { readonly kind: "hop"; readonly key: string; readonly hop: Hop }
  | { readonly kind: "agent"; readonly key: string; readonly agent: AgentSummary }
  | { readonly kind: "skill"; readonly key: string; readonly skill: SkillView }
  | { readonly kind: "plugin"; readonly key: string; readonly plugin: PluginView };

export function rowsOf(screen: ScreenName, model: Model, ui: Ui): readonly ListRow[] {
  const rows = allRows(screen, model, ui);
  if (ui.filter === "" || screen === "session") return rows;
  const wanted = ui.filter.toLowerCase();
  return rows.filter((row) => nameOf(row).toLowerCase().includes(wanted));
}

function allRows(screen: ScreenName, { state, lists, flow }: Model, ui: Ui): readonly ListRow[] {
  switch (screen) {
    case "session":
      return [];
    case "dashboard": {
      const bands = dashboard(state, lists);
      return [...bands.queues, ...bands.inFlight, ...bands.workflows, ...bands.queued, ...bands.recent];
    }
    case "needs":
      return [
        ...needsYou(state).map((open): ListRow => ({ kind: "ask", key: `ask:${open.ask.id}`, open })),
        ...otherNeeds({ lists }).map(
          (need): ListRow => ({ kind: "need", key: `need:${need.task ?? need.session}`, need }),
        ),
      ];
    case "team":
      if (ui.teamView === "flow") return flow.map((hop) => ({ kind: "hop", key: `hop:${hop.seq}`, hop }));
      return [
        ...teamTree(state).map(({ session }): ListRow => ({ kind: "session", key: `session:${session.id}`, session })),
        ...lists.groups.map((group): ListRow => ({ kind: "group", key: `group:${group.id}`, group })),
      ];
    case "agents":
      return [
        ...lists.agents.map((agent): ListRow => ({ kind: "agent", key: `agent:${agent.plugin}:${agent.slug}`, agent })),
        ...lists.skills.map((skill): ListRow => ({ kind: "skill", key: `skill:${skill.plugin}:${skill.name}`, skill })),
        ...lists.plugins.map((plugin): ListRow => ({ kind: "plugin", key: `plugin:${plugin.name}`, plugin })),
      ];
  }
}

/** The words by which a row is found. */
export function nameOf(row: ListRow): string {
  switch (row.kind) {
    case "queue":
      return row.queue.name;
    case "task":
      return `${row.task.queue} ${row.task.id} ${row.task.payload}`;
    case "run":
      return `${row.run.workflow} ${row.run.id}`;
    case "subagent":
      return `${row.subagent.label} ${row.subagent.agent} ${row.subagent.run_id}`;
    case "schedule":
      return row.schedule.name;
    case "ask":
      return `${row.open.session.title} ${row.open.session.handle} ${row.open.ask.question}`;
    case "need":
      return `${row.need.title} ${row.need.handle}`;
    case "session":
      return `${row.session.handle} ${row.session.agent} ${row.session.title}`;
    case "group":
      return row.group.name;
    case "hop":
      return `${row.hop.from} ${row.hop.to} ${row.hop.label} ${row.hop.text}`;
    case "agent":
      return row.agent.slug;
    case "skill":
      return row.skill.name;
    case "plugin":
      return row.plugin.name;
  }
}

/** The selected row, or the first one. In the flow, the newest one. */
export function selectedRow(rows: readonly ListRow[], ui: Ui): ListRow | null {
  const key = ui.selected[ui.screen];
  const found = rows.find((row) => row.key === key);
  if (found !== undefined) return found;
  return (ui.screen === "team" && ui.teamView === "flow" ? rows.at(-1) : rows[0]) ?? null;
}

/** The session that belongs to a row: its own, its worker's, its host's, or the one that asks. */
export function sessionOfRow(row: ListRow): string | null {
  switch (row.kind) {
    case "task":
      return row.task.worker;
    case "run":
      return row.run.host;
    case "subagent":
      return row.subagent.session;
    case "ask":
      return row.open.ask.session;
    case "need":
      return row.need.session;
    case "session":
      return row.session.id;
    case "hop":
      return row.hop.session;
    default:
      return null;
  }
}
