/** The dashboard: the bands in their order, and DETAIL of the selected row. */

import { age, preciseDuration, runningTime, shortId } from "@aegis/client/views/words.ts";
import type { QueueView } from "@aegis/contract/task.ts";
import { plainLine } from "@aegis/lib/plain-text.ts";
import { type Dashboard, type DashboardRow, dashboard, handleOf, runWords, taskActivity } from "../facts/dashboard.ts";
import { rowsOf, selectedRow } from "../rows.ts";
import type { ViewContext } from "./context.ts";
import { detailLines } from "./detail.ts";
import { cut, ends, fill } from "./layout.ts";
import { runMarks, subagentMarks, taskMarks } from "./marks.ts";

type Band = keyof Dashboard;

const titles: Readonly<Record<Band, string>> = {
  queues: "QUEUES",
  inFlight: "IN-FLIGHT",
  workflows: "WORKFLOWS",
  queued: "QUEUED",
  recent: "RECENT",
};
const order: readonly Band[] = ["queues", "inFlight", "workflows", "queued", "recent"];
/** Which band gives up rows first. */
const givesUp: readonly Band[] = ["recent", "queued", "queues", "workflows", "inFlight"];
const sideBySide = 160;

export function dashboardView(cx: ViewContext, width: number, height: number): string[] {
  const rows = rowsOf("dashboard", cx.model, cx.ui);
  const selected = selectedRow(rows, cx.ui);
  const isWide = width >= sideBySide;
  const left = isWide ? Math.floor(width * 0.58) : width;
  const detailHeight = isWide ? height : Math.max(3, Math.min(12, Math.floor(height / 3)));
  const bandHeight = isWide ? height : height - detailHeight;
  const bands = fill(
    bandRows(cx, new Set(rows.map(({ key }) => key)), selected?.key ?? null, isWide ? left - 2 : left, bandHeight),
    bandHeight,
  );
  const detail = fill(detailRows(cx, selected, isWide ? width - left - 1 : width, detailHeight), detailHeight);
  if (!isWide) return [...bands, ...detail];
  return bands.map((row, index) => `${ends(row, " ", left)}${cx.theme.paint("dim", "│")}${detail[index] ?? ""}`);
}

function detailRows(
  cx: ViewContext,
  row: DashboardRow | ReturnType<typeof selectedRow>,
  width: number,
  height: number,
) {
  if (row === null) return [cx.theme.paint("title", "DETAIL"), cx.theme.paint("dim", "nothing is selected")];
  const { title, lines } = detailLines(cx, row, width);
  const shown = lines.slice(0, height - 1);
  const more = lines.length - shown.length;
  const head = `${cx.theme.paint("title", "DETAIL")}  ${title}`;
  return [ends(head, more > 0 ? cx.theme.paint("dim", `+${more}`) : "", width), ...shown];
}

type Entry = { key: string; lines: string[] };

function bandRows(cx: ViewContext, kept: ReadonlySet<string>, selected: string | null, width: number, height: number) {
  const bands = dashboard(cx.model.state, cx.model.lists);
  const entries = Object.fromEntries(
    order.map((band) => {
      const rows: readonly DashboardRow[] = bands[band];
      const shown = rows.filter(({ key }) => kept.has(key));
      return [band, shown.map((row): Entry => ({ key: row.key, lines: rowLines(cx, row, width - 2) }))];
    }),
  ) as Record<Band, Entry[]>;
  const visible = shrink(entries, selected, height - order.length);
  return order.flatMap((band) => {
    const all = entries[band];
    const { from, count } = visible[band];
    const shown = all.slice(from, from + count);
    const more = all.length - shown.length;
    const empty = all.length === 0 ? cx.theme.paint("dim", "  none") : "";
    return [
      ends(
        `${cx.theme.paint("title", titles[band])}${empty}`,
        more > 0 ? cx.theme.paint("dim", `+${more}`) : "",
        width,
      ),
      ...shown.flatMap(({ key, lines }) =>
        lines.map((line, index) => {
          const mark = key === selected && index === 0 ? "▸" : " ";
          return key === selected ? cx.theme.paint("bold", `${mark} ${line}`) : `${mark} ${line}`;
        }),
      ),
    ];
  });
}

/** Takes rows from the bands in a fixed order until the rest fits. The selected row stays; so do a run and its outcome. */
function shrink(entries: Record<Band, Entry[]>, selected: string | null, room: number) {
  const size = (list: readonly Entry[]) => list.reduce((sum, { lines }) => sum + lines.length, 0);
  const visible = Object.fromEntries(order.map((band) => [band, { from: 0, count: entries[band].length }])) as Record<
    Band,
    { from: number; count: number }
  >;
  const shown = (band: Band) => entries[band].slice(visible[band].from, visible[band].from + visible[band].count);
  const total = () => order.reduce((sum, band) => sum + size(shown(band)), 0);
  for (const least of [3, 1, 0]) {
    for (const band of givesUp) {
      const at = entries[band].findIndex(({ key }) => key === selected);
      while (total() > room && visible[band].count > Math.max(least, at === -1 ? 0 : 1)) {
        const { from, count } = visible[band];
        // Drop from the end unless the selection is there.
        visible[band] =
          at >= from + count - 1 && at !== -1 ? { from: from + 1, count: count - 1 } : { from, count: count - 1 };
      }
    }
  }
  return visible;
}

function rowLines(cx: ViewContext, row: DashboardRow, width: number): string[] {
  const { theme, model } = cx;
  const { state } = model;
  switch (row.kind) {
    case "queue": {
      const { queue, busy, waiting } = row;
      const { tasks, settings, paused } = queue;
      const parts = [
        `${busy}/${settings?.max_parallel ?? (queue.source === "built-in" ? 1 : 0)} busy`,
        `${waiting} waiting`,
        ...(settings === null ? [undeclared(queue)] : [`agent ${plainLine(settings.agent)}`]),
        `${tasks.completed ?? 0} done`,
        ...((tasks.failed ?? 0) > 0 ? [theme.paint("error", `${tasks.failed} failed`)] : []),
        ...(paused ? [theme.paint("wait", "‖ paused")] : []),
        ...queue.blocked_by.map(({ constraint }) => theme.paint("wait", `blocked by its ${constraint} budget`)),
      ];
      return [cut(`${plainLine(queue.name).padEnd(9)}${parts.join(" · ")}`, width)];
    }
    case "task": {
      const { task, place } = row;
      const { glyph, role } = taskMarks[task.status];
      if (task.status === "pending") {
        const from = task.producer === null ? "you" : plainLine(handleOf(state, task.producer));
        const time = age(cx.clock() - task.enqueued_at);
        return [
          cut(
            `${place} ${shortId(task.id)} ${plainLine(task.queue)} · from ${from} · ${plainLine(task.payload)} · ${time}`,
            width,
          ),
        ];
      }
      const mark = theme.paint(role, glyph);
      if (task.status === "dispatched") {
        const worker = task.worker === null ? "" : ` · worker ${plainLine(handleOf(state, task.worker))}`;
        const does = plainLine(taskActivity(task, state));
        const time = runningTime(cx.clock() - (task.dispatched_at ?? cx.now));
        return [
          ends(
            `${mark} ${shortId(task.id)} ${plainLine(task.queue)}${worker}${does === "" ? "" : ` · ${does}`}`,
            time,
            width,
          ),
        ];
      }
      const time = preciseDuration((task.ended_at ?? 0) - (task.dispatched_at ?? task.enqueued_at));
      const words = plainLine(task.error ?? task.result ?? "");
      return [
        cut(
          `${mark} ${shortId(task.id)} ${plainLine(task.queue)} · ${time}${words === "" ? "" : ` · ${words}`}`,
          width,
        ),
      ];
    }
    case "run": {
      const isOpen = row.run.ended_at === null;
      const words = runWords(row.run, state, isOpen ? cx.clock() : cx.now);
      const { glyph, role } = runMarks[words.status];
      const line = cut(`${theme.paint(role, glyph)} ${plainLine(words.line)}`, width);
      return words.outcome === null ? [line] : [line, cut(`→ ${plainLine(words.outcome)}`, width)];
    }
    case "subagent": {
      const { subagent } = row;
      const { glyph, role } = subagentMarks[subagent.status];
      const isOpen = subagent.ended_at === null;
      const time = runningTime((subagent.ended_at ?? cx.clock()) - subagent.created_at);
      const words = plainLine(isOpen ? subagent.task : (subagent.error ?? subagent.result ?? ""));
      const name = `subagent ${plainLine(subagent.label)} · of ${plainLine(handleOf(state, subagent.parent))}`;
      return [ends(`${theme.paint(role, glyph)} ${name} · ${words}`, time, width)];
    }
    case "schedule": {
      const { schedule } = row;
      const next = schedule.next_at === null ? schedule.state : `in ${age(schedule.next_at - cx.clock())}`;
      const what = { workflow: "workflow", queue: "task for", agent: "session of" }[schedule.action.kind];
      const target = plainLine(actionTarget(schedule.action));
      const problem = schedule.problem === null ? "" : theme.paint("error", ` · ${plainLine(schedule.problem)}`);
      return [ends(`· schedule ${plainLine(schedule.name)} · ${what} ${target}${problem}`, next, width)];
    }
  }
}

function actionTarget(action: (DashboardRow & { kind: "schedule" })["schedule"]["action"]): string {
  if (action.kind === "workflow") return action.workflow;
  return action.kind === "queue" ? action.queue : action.agent;
}

function undeclared({ source }: QueueView): string {
  return source === "built-in" ? "landings" : "no longer declared";
}
