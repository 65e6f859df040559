/** Actions on tasks, runs, queues, schedules and subagents: the verbs of the command line. */
import type { RunState } from "@aegis/client/state.ts";
import { timeOfDay } from "@aegis/client/views/words.ts";
import type { LandingView } from "@aegis/contract/landing.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import { plainLine } from "@aegis/lib/plain-text.ts";
import type { App } from "../app-api.ts";
import { needsYou } from "../facts/needs-you.ts";
import type { ListRow } from "../rows.ts";
import type { Action } from "./action.ts";
import { onRow } from "./on-row.ts";

const isOpenTask = ({ task }: Extract<ListRow, { kind: "task" }>) => ["pending", "dispatched"].includes(task.status);

const taskActions: readonly Action[] = [
  onRow(
    { id: "task.cancel", title: "cancel", keys: ["x"], hint: 2, kind: "task" },
    (app, { task }) =>
      app.confirm(`Cancel the task ${task.id}?`, [task.payload], () =>
        app.attempt(cancelTask(app, task.id), "cancelled"),
      ),
    isOpenTask,
  ),
  onRow(
    { id: "task.retry", title: "retry", keys: ["r"], hint: 2, kind: "task" },
    (app, { task }) => app.attempt(app.client.call("retryTask", { path: { task: task.id } }), "waits again"),
    ({ task }) => task.status === "failed" || task.status === "cancelled",
  ),
];

/** A refusal is part of the answer, not an error of the request. */
async function cancelTask(app: App, task: (ListRow & { kind: "task" })["task"]["id"]): Promise<void> {
  const outcome = await app.client.call("cancelTask", { path: { task } });
  if (!outcome.ok) throw new Error(outcome.error);
  if ("note" in outcome) throw new Error(`the task has already ended: ${outcome.status}`);
}

const runActions: readonly Action[] = [
  onRow(
    { id: "run.cancel", title: "cancel", keys: ["x"], hint: 2, kind: "run" },
    (app, { run }) =>
      app.confirm(`Cancel the run of ${run.workflow}?`, ["Its steps stop and its sessions are closed."], () =>
        app.attempt(app.client.call("cancelRun", { path: { run: run.id }, body: {} }), "cancelled"),
      ),
    ({ run }) => run.ended_at === null,
  ),
  onRow(
    { id: "run.resume", title: "resume", keys: ["R", "r"], hint: 3, kind: "run" },
    (app, { run }) => app.attempt(app.client.call("resumeRun", { path: { run: run.id }, body: {} }), "resumed"),
    ({ run }) => run.status === "parked" || run.status === "error" || run.status === "cancelled",
  ),
  onRow(
    { id: "run.fork", title: "fork", keys: ["f"], hint: 4, kind: "run" },
    (app, { run }) =>
      app.attempt(
        app.client.call("forkRun", { path: { run: run.id }, body: {} }).then((answer) => {
          app.update({ selected: { ...app.ui.selected, dashboard: `run:${answer.run.id}` } });
          app.flash("forked");
        }),
      ),
    ({ run }) => run.ended_at !== null,
  ),
  onRow({ id: "run.log", title: "log", keys: ["l"], hint: 5, kind: "run" }, (app, { run }) =>
    app.attempt(
      app.client.call("runEvents", { path: { run: run.id }, query: { limit: 1000 } }).then(({ events }) => {
        const lines = events.flatMap((event) => (event.type === "run.log" ? [event.data.text] : []));
        app.text(`log of ${run.workflow}`, lines.length === 0 ? "The run wrote no log lines." : lines.join("\n"));
      }),
    ),
  ),
  {
    id: "run.answer",
    title: "answer",
    layer: "dashboard",
    keys: ["a"],
    hint: 2,
    when: (app) => askOfRow(app) !== null,
    run(app) {
      const ask = askOfRow(app);
      if (ask === null) return;
      app.show("needs");
      app.update({ selected: { ...app.ui.selected, needs: `ask:${ask}` } });
    },
  },
];

/** The open ask of the selected row: one of its run, or of the session that works for it. */
function askOfRow(app: App): string | null {
  const row = app.row();
  if (row === null) return null;
  const open = needsYou(app.store.model.state);
  const belongs = ({ ask }: (typeof open)[number]): boolean => {
    if (row.kind === "run") return runOf(ask.detail) === row.run.id;
    if (row.kind === "task") return ask.session === row.task.worker;
    return row.kind === "subagent" && ask.session === row.subagent.session;
  };
  return open.find(belongs)?.ask.id ?? null;
}

/** Asks of workflows name their run. */
function runOf(detail: unknown): RunState["id"] | null {
  if (typeof detail !== "object" || detail === null || !("run" in detail)) return null;
  return detail.run as RunState["id"];
}

const queueActions: readonly Action[] = [
  onRow({ id: "queue.pause", title: "pause or resume", keys: ["p"], hint: 2, kind: "queue" }, (app, { queue }) => {
    const path = { queue: queue.name };
    const work = queue.paused ? app.client.call("resumeQueue", { path }) : app.client.call("pauseQueue", { path });
    app.attempt(work, queue.paused ? "resumed" : "paused");
  }),
  onRow(
    { id: "queue.enqueue", title: "new task", keys: ["n"], hint: 3, kind: "queue" },
    (app, { queue }) =>
      app.input(`New task for ${queue.name}`, "", (payload) => {
        if (payload.trim() !== "")
          app.attempt(app.client.call("enqueueTask", { path: { queue: queue.name }, body: { payload } }), "accepted");
      }),
    ({ queue }) => queue.source !== "built-in",
  ),
  onRow(
    { id: "queue.landings", title: "landings", keys: ["l"], hint: 3, kind: "queue" },
    (app) =>
      app.attempt(
        app.client.call("listLandings").then(({ landings }) => {
          app.text("landings", landings.map(landingLine).join("\n"));
        }),
      ),
    ({ queue }) => queue.source === "built-in",
  ),
  onRow(
    { id: "queue.remove", title: "remove", keys: ["D"], hint: 6, kind: "queue" },
    (app, { queue }) =>
      app.confirm(`Remove the queue ${queue.name}?`, ["Aegis refuses while it has open tasks."], () =>
        app.attempt(app.client.call("removeQueue", { path: { queue: queue.name }, query: {} }), "removed"),
      ),
    ({ queue }) => queue.source === "added",
  ),
];

const scheduleActions: readonly Action[] = [
  onRow({ id: "schedule.run", title: "run now", keys: ["r"], hint: 2, kind: "schedule" }, (app, { schedule }) =>
    app.attempt(app.client.call("runSchedule", { path: { schedule: schedule.name }, body: {} }), "fired"),
  ),
  onRow({ id: "schedule.toggle", title: "on or off", keys: ["p"], hint: 3, kind: "schedule" }, (app, { schedule }) => {
    const body = { enabled: !schedule.enabled };
    app.attempt(
      app.client.call("updateSchedule", { path: { schedule: schedule.name }, body }),
      schedule.enabled ? "switched off" : "switched on",
    );
  }),
  onRow({ id: "schedule.log", title: "log", keys: ["l"], hint: 5, kind: "schedule" }, (app, { schedule }) =>
    app.attempt(
      app.client.call("listFirings", { query: { schedule: schedule.name, limit: 100 } }).then(({ firings }) => {
        const lines = firings.map(firingLine);
        app.text(`firings of ${schedule.name}`, lines.length === 0 ? "It has not fired yet." : lines.join("\n"));
      }),
    ),
  ),
  onRow({ id: "schedule.remove", title: "remove", keys: ["D"], hint: 6, kind: "schedule" }, (app, { schedule }) =>
    app.confirm(
      `Remove the schedule ${schedule.name}?`,
      [`It is removed from ${schedule.file}. Work that it started continues.`],
      () => app.attempt(app.client.call("removeSchedule", { path: { schedule: schedule.name } }), "removed"),
    ),
  ),
];

function landingLine({ id, state, target, queued_position: position, created_at, detail }: LandingView): string {
  const words = position === null ? state : `waits (position ${position})`;
  return `${timeOfDay(created_at)} ${id} ${words} · ${target}${detail === null ? "" : ` · ${plainLine(detail)}`}`;
}

function firingLine({ slot, manual, status, result, error }: Firing): string {
  const day = new Date(slot).toISOString().slice(0, 10);
  return `${day} ${timeOfDay(slot)} ${status}${manual ? " by hand" : ""} ${error ?? result ?? ""}`.trimEnd();
}

export const workActions: readonly Action[] = [
  ...taskActions,
  ...runActions,
  ...queueActions,
  ...scheduleActions,
  {
    id: "subagent.kill",
    title: "kill",
    layer: "list",
    keys: ["K"],
    hint: 2,
    when: (app) => runningSubagent(app) !== null,
    run(app) {
      const subagent = runningSubagent(app);
      if (subagent === null) return;
      app.confirm(`Kill the subagent ${subagent.label}?`, ["Everything below it ends too."], () =>
        app.attempt(app.client.call("killSubagent", { path: { run_id: subagent.run_id } }), "killed"),
      );
    },
  },
];

/** The subagent of the selected row, on the dashboard or in the team. */
function runningSubagent(app: App) {
  const row = app.row();
  const found =
    row?.kind === "subagent"
      ? row.subagent
      : row?.kind === "session"
        ? Object.values(app.store.model.state.subagents).find(({ session }) => session === row.session.id)
        : undefined;
  return found?.status === "running" ? found : null;
}
