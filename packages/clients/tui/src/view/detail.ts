/** DETAIL: everything about the selected row. */

import { timeline } from "@aegis/client/views/timeline.ts";
import { age, plural, preciseDuration, runningTime, shortId, timeOfDay } from "@aegis/client/views/words.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import { plain, plainLine } from "@aegis/lib/plain-text.ts";
import { verdictOf } from "../checked.ts";
import { activityOf } from "../facts/activity.ts";
import { boundBlock } from "../facts/blocks.ts";
import { handleOf, runWords } from "../facts/dashboard.ts";
import type { ListRow } from "../rows.ts";
import type { ViewContext } from "./context.ts";
import { cell, column, cut } from "./layout.ts";
import { wrap } from "./transcript.ts";

const mostReceipts = 5;
const verdictRoles = { verified: "ok", unverified: "dim", void: "wait" } as const;
const receiptRoles = { running: "run", passed: "ok", void: "wait", failed: "error", refused: "error" } as const;

type Detail = { title: string; lines: string[] };

export function detailLines(cx: ViewContext, row: ListRow, width: number): Detail {
  switch (row.kind) {
    case "task":
      return taskDetail(cx, row, width);
    case "run":
      return runDetail(cx, row, width);
    case "queue":
      return queueDetail(row, width);
    case "schedule":
      return scheduleDetail(cx, row, width);
    case "subagent":
      return subagentDetail(cx, row, width);
    default:
      return { title: "", lines: [] };
  }
}

function block(text: string, width: number): string[] {
  return wrap(plain(boundBlock(text)), Math.max(1, width - 2)).map((line) => `  ${line}`);
}

/** What checks said: verified, unverified or void once the work is done, and one line per receipt. */
function checkLines(cx: ViewContext, { of, isDone }: { of: string; isDone: boolean }, width: number): string[] {
  const checked = cx.model.checked?.of === of ? cx.model.checked : null;
  if (checked === null) return [];
  const { check, receipts } = checked;
  const word = verdictOf(receipts);
  return [
    ...(isDone ? [cx.theme.paint(verdictRoles[word], word)] : []),
    ...(receipts.length === 0 && check !== null ? [cx.theme.paint("dim", cell(`check \`${check}\``, width))] : []),
    ...receipts
      .slice(0, mostReceipts)
      .map((receipt) => cx.theme.paint(receiptRoles[receipt.state], cell(receiptWords(receipt), width))),
  ];
}

function taskDetail(cx: ViewContext, { task }: ListRow & { kind: "task" }, width: number): Detail {
  const worker = task.worker === null ? undefined : cx.model.state.cards[task.worker];
  const words = task.result ?? worker?.said ?? null;
  const attempts = task.attempts === 0 ? [] : [`attempt ${task.attempts}`];
  const facts = [task.status, ...attempts, ...(worker === undefined ? [] : [`worker ${plainLine(worker.handle)}`])];
  return {
    title: `task ${shortId(task.id)} ${plainLine(task.queue)}`,
    lines: [
      cut(facts.join(" · "), width),
      ...checkLines(cx, { of: task.id, isDone: task.status === "completed" }, width),
      ...block(task.payload, width),
      ...(task.error === null ? [] : [cx.theme.paint("error", cell(`error: ${task.error}`, width))]),
      ...(words === null ? [] : [cx.theme.paint("dim", "last words"), ...block(words, width)]),
    ],
  };
}

function runDetail(cx: ViewContext, { run }: ListRow & { kind: "run" }, width: number): Detail {
  const { theme, model } = cx;
  const words = runWords(run, model.state, cx.now);
  const steps = model.steps?.run === run.id ? model.steps.steps : [];
  const facts = [
    words.status,
    `args ${plainLine(JSON.stringify(run.args))}`,
    ...(run.phase === null ? [] : [`phase ${plainLine(run.phase)}`]),
    plural(steps.length || run.steps_done, "step"),
  ];
  const label = Math.min(24, Math.max(8, Math.floor(width * 0.3)));
  const longestError = Math.max(0, ...steps.map(({ error }) => (error === null ? 0 : plainLine(error).length + 1)));
  const axis = Math.max(4, width - label - 12 - Math.min(longestError, Math.floor(width / 4)));
  const isOpen = steps.some(({ ended_at }) => ended_at === null) && run.ended_at === null;
  const now = isOpen ? cx.clock() : (run.ended_at ?? cx.now);
  const { bars, gaps } = timeline(steps, axis, now);
  const lines = bars.map(({ step, from, to }) => {
    const role = step.status === "error" ? "error" : step.status === "begun" ? "run" : "ok";
    // The column before the first bar after a gap stands for the gap.
    const before = Array.from({ length: from }, (_, at) => (gaps.some((gap) => gap.at - 1 === at) ? "⋯" : "·")).join(
      "",
    );
    const bar = theme.paint(role, "█".repeat(Math.max(1, to - from)));
    const time = preciseDuration((step.ended_at ?? now) - step.started_at);
    const error = step.error === null ? "" : theme.paint("error", ` ${plainLine(step.error)}`);
    const name = column(step.label === "" ? step.method : step.label, label);
    const styled = step.status === "error" ? theme.paint("bold", name) : name;
    const rest = " ".repeat(Math.max(0, axis - to));
    return cut(`${styled} ${theme.paint("dim", before)}${bar}${rest} ${time}${error}`, width);
  });
  const folded = gaps.map(({ ms }) => `⋯ ${runningTime(ms)}`).join("  ");
  return {
    title: `run ${shortId(run.id)} ${plainLine(run.workflow)}`,
    lines: [
      cut(facts.join(" · "), width),
      ...checkLines(cx, { of: run.id, isDone: run.status === "ok" }, width),
      ...lines,
      ...(folded === "" ? [] : [theme.paint("dim", cut(`idle time folded: ${folded}`, width))]),
      ...(words.outcome === null ? [] : block(words.outcome, width)),
      ...run.lines.slice(-20).map((line) => theme.paint("dim", cell(`  ${line}`, width))),
    ],
  };
}

function queueDetail({ queue }: ListRow & { kind: "queue" }, width: number): Detail {
  const { settings, tasks, budgets } = queue;
  const counts = Object.entries(tasks).map(([status, count]) => `${count} ${status}`);
  return {
    title: `queue ${plainLine(queue.name)}`,
    lines: [
      cut(counts.join(" · "), width),
      ...(settings === null
        ? [
            queue.source === "built-in"
              ? "Landings, one at a time: the work of sessions in worktrees."
              : "It is no longer declared; its tasks are kept.",
          ]
        : [
            cut(
              `agent ${plainLine(settings.agent)} · retries ${settings.retries} · timeout ${settings.timeout ?? "none"}`,
              width,
            ),
          ]),
      ...budgets.map((one) =>
        cut(
          `budget ${one.limit} ${one.constraint} per ${one.window}: ${one.spent} spent${one.allowed ? "" : ", used up"}`,
          width,
        ),
      ),
    ],
  };
}

function scheduleDetail(cx: ViewContext, { schedule }: ListRow & { kind: "schedule" }, width: number): Detail {
  const slots = cx.model.slots?.schedule === schedule.name ? cx.model.slots.times : [];
  const when = schedule.cron ?? (schedule.fire_at === null ? "" : new Date(schedule.fire_at).toISOString());
  const last = schedule.last;
  return {
    title: `schedule ${plainLine(schedule.name)}`,
    lines: [
      cut(
        `${plainLine(when)} · ${plainLine(schedule.timezone)} · ${schedule.state} · ${plainLine(schedule.file)}`,
        width,
      ),
      ...slots.map((at) => cut(`  next ${new Date(at).toISOString().slice(0, 16).replace("T", " ")}Z`, width)),
      ...(last === null
        ? []
        : [cell(`last ${last.status} ${timeOfDay(last.slot)} ${last.error ?? last.result ?? ""}`, width)]),
    ],
  };
}

function subagentDetail(cx: ViewContext, { subagent }: ListRow & { kind: "subagent" }, width: number): Detail {
  const { state } = cx.model;
  const tree = Object.values(state.subagents)
    .filter(({ root, archived_at }) => root === subagent.root && archived_at === null)
    .sort((a, b) => a.created_at - b.created_at);
  return {
    title: `subagent ${plainLine(subagent.label)} ${subagent.run_id}`,
    lines: [
      cut(
        `${subagent.status} · agent ${plainLine(subagent.agent)} · root ${plainLine(handleOf(state, subagent.root))}`,
        width,
      ),
      ...checkLines(cx, { of: subagent.run_id, isDone: subagent.status === "done" }, width),
      ...tree.map((one) => {
        const session = state.cards[one.session];
        const does = session === undefined ? "" : activityOf(state, session).words;
        const words = one.status === "running" ? does : (one.error ?? one.result ?? "");
        const time = age((one.ended_at ?? cx.now) - one.created_at);
        return cut(
          `${"  ".repeat(one.depth)}└ ${plainLine(one.label)} ${one.status} ${time} ${plainLine(words)}`,
          width,
        );
      }),
      ...block(subagent.task, width),
      ...(subagent.result === null ? [] : [cx.theme.paint("dim", "result"), ...block(subagent.result, width)]),
    ],
  };
}
