/** Lists every reason not to close a session: open work and results that it still expects. */
import type { SessionRow, StoreReads } from "../../store/store.ts";

/** More than a person would read. */
const mostChildren = 100;

export async function unfinished(read: StoreReads, session: SessionRow): Promise<string[]> {
  const { id, handle, state } = session;
  const [pending, owed, dispatched, children, runs] = await Promise.all([
    read.messages.countPending(id),
    read.tasks.owedTo(id),
    read.tasks.dispatched(),
    read.subagents.list({ parent: id, status: "running", archived: false, limit: mostChildren }),
    read.runs.unfinished(),
  ]);
  const own = dispatched.filter((task) => task.worker === id);
  const hosted = runs.filter((run) => run.host === id && run.callback && run.status === "running");
  return [
    ...(state === "working" ? [`'${handle}' is mid-turn`] : []),
    ...(pending > 0 ? [`'${handle}' has ${pending} unread message(s)`] : []),
    ...own.map((task) => `'${handle}' is the worker of task ${task.id} of queue ${task.queue}`),
    ...owed.map((task) => `'${handle}' waits for task ${task.id} of queue ${task.queue} (${task.status})`),
    ...children.map((child) => `'${handle}' has a running subagent: ${child.label} (${child.run_id})`),
    ...hosted.map((run) => `'${handle}' waits for run ${run.id} of workflow ${run.workflow}`),
  ];
}
