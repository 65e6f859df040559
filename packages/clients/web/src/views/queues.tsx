/** Queues and their tasks. */

import { headline } from "@aegis/contract/headline.ts";
import type { LandingView } from "@aegis/contract/landing.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import { useState } from "preact/hooks";
import { useAction } from "../app/busy.ts";
import { client } from "../app/client.ts";
import { typeBegins, useResource } from "../app/resource.ts";
import { link } from "../app/router.ts";
import { board, now } from "../app/store.ts";
import { age, oneLine, visible } from "../model/format.ts";
import { Empty, Problem } from "../parts/facts.tsx";
import { ActionButton, Page, StatusWord, Table } from "../parts/page.tsx";
import { Receipt, Verified } from "../parts/receipt.tsx";

const load = async () => {
  const [{ queues }, { tasks }, { landings }] = await Promise.all([
    client.call("listQueues"),
    client.call("listTasks"),
    client.call("listLandings"),
  ]);
  return { queues, tasks, landings };
};

export function QueuesPage() {
  const { data, problem } = useResource(load, typeBegins("queue.", "task.", "land.", "receipt.", "changes."));
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const ofTasks = data.queues.filter(({ source }) => source !== "built-in");
  return (
    <Page title="Queues">
      <Problem text={problem} />
      <Table
        label="Queues"
        rows={data.queues}
        keyOf={(queue) => queue.name}
        empty={
          <>
            The project has no queues. Declare one with <code>aegis config queue add</code>.
          </>
        }
        columns={[
          { name: "Queue", cell: (queue) => <b>{visible(queue.name)}</b> },
          { name: "Agent", cell: (queue) => queue.settings?.agent ?? "" },
          { name: "Waiting", number: true, cell: (queue) => queue.tasks.pending },
          {
            name: "Running",
            number: true,
            cell: (queue) => `${queue.tasks.dispatched} of ${queue.settings?.max_parallel ?? 1}`,
          },
          { name: "Completed", number: true, cell: (queue) => queue.tasks.completed },
          { name: "Failed", number: true, cell: (queue) => queue.tasks.failed },
          {
            name: "",
            wide: true,
            cell: (queue) => (
              <div class="buttons">
                {queue.paused ? (
                  <ActionButton
                    label="Resume"
                    work={() => client.call("resumeQueue", { path: { queue: queue.name } })}
                  />
                ) : (
                  <ActionButton label="Pause" work={() => client.call("pauseQueue", { path: { queue: queue.name } })} />
                )}
                {queue.paused ? <span class="warn">paused</span> : null}
                {queue.blocked_by.length > 0 ? <span class="warn">budget reached</span> : null}
              </div>
            ),
          },
        ]}
      />
      {ofTasks.length === 0 ? null : <NewTask queues={ofTasks.map(({ name }) => name)} />}
      {data.landings.length === 0 ? null : <LandingTable landings={data.landings} />}
      <h2>Tasks</h2>
      <Table
        label="Tasks"
        rows={data.tasks}
        keyOf={(task) => task.id}
        empty="There are no tasks yet."
        columns={[
          { name: "Status", cell: (task) => <StatusWord status={task.status} /> },
          { name: "Queue", cell: (task) => visible(task.queue) },
          { name: "Task", wide: true, cell: (task) => <TaskText task={task} /> },
          {
            name: "Check",
            cell: (task) => <Verified receipt={task.receipt} done={task.status === "completed"} />,
          },
          { name: "Worker", cell: (task) => <SessionLink id={task.worker} /> },
          { name: "From", cell: (task) => (task.producer === null ? "a person" : <SessionLink id={task.producer} />) },
          { name: "Age", number: true, cell: (task) => age(now() - task.enqueued_at) },
          { name: "", cell: (task) => <TaskActions task={task} /> },
        ]}
      />
    </Page>
  );
}

function LandingTable({ landings }: { landings: readonly LandingView[] }) {
  return (
    <>
      <h2>Landings</h2>
      <Table
        label="Landings"
        rows={landings}
        keyOf={(one) => one.id}
        empty="No landing yet."
        columns={[
          {
            name: "State",
            cell: ({ state, queued_position: position }) => (position === null ? state : `waits (${position})`),
          },
          { name: "Branch", cell: (one) => visible(one.target) },
          { name: "Session", cell: (one) => <SessionLink id={one.session} /> },
          { name: "Check", cell: (one) => <Verified receipt={one.receipt} done={one.state === "landed"} /> },
          { name: "Detail", wide: true, cell: (one) => oneLine(one.detail ?? "", 120) },
          { name: "Age", number: true, cell: (one) => age(now() - one.created_at) },
          {
            name: "",
            cell: ({ id, queued_position: position }) =>
              position === null ? null : (
                <ActionButton
                  label="Cancel"
                  kind="plain"
                  work={() => client.call("cancelLanding", { path: { landing: id } })}
                />
              ),
          },
        ]}
      />
    </>
  );
}

function TaskText({ task }: { task: TaskView }) {
  const outcome = task.error ?? task.result;
  return (
    <details class="task">
      <summary>{oneLine(task.payload, 120)}</summary>
      <pre class="plain-text">{visible(task.payload)}</pre>
      {task.waits_for === null ? null : <p class="dim">waits for {visible(task.waits_for)}</p>}
      {outcome === null ? null : <pre class={`plain-text ${task.error === null ? "" : "err"}`}>{visible(outcome)}</pre>}
      {task.receipt === null ? null : <Receipt receipt={task.receipt} />}
    </details>
  );
}

function TaskActions({ task }: { task: TaskView }) {
  const path = { task: task.id };
  if (task.status === "pending" || task.status === "dispatched")
    return <ActionButton label="Cancel" kind="plain" work={() => client.call("cancelTask", { path })} />;
  if (task.status === "failed" || task.status === "cancelled")
    return <ActionButton label="Retry" kind="plain" work={() => client.call("retryTask", { path })} />;
  return null;
}

export function SessionLink({ id }: { id: string | null }) {
  if (id === null) return null;
  const card = Object.values(board.value.cards).find((one) => one.id === id);
  return <a href={link("s", id)}>{card === undefined ? "closed session" : oneLine(headline(card), 60)}</a>;
}

function NewTask({ queues }: { queues: readonly string[] }) {
  const action = useAction();
  const [queue, setQueue] = useState(queues[0] ?? "");
  const [payload, setPayload] = useState("");
  return (
    <form
      class="new"
      onSubmit={(event) => {
        event.preventDefault();
        void action
          .run(() => client.call("enqueueTask", { path: { queue }, body: { payload } }))
          .then((worked) => worked && setPayload(""));
      }}
    >
      <select aria-label="Queue" value={queue} onChange={(event) => setQueue(event.currentTarget.value)}>
        {queues.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      <input
        aria-label="Task"
        placeholder="A task for the queue"
        value={payload}
        onInput={(event) => setPayload(event.currentTarget.value)}
      />
      <button type="submit" class="primary" disabled={action.busy.value || payload.trim() === ""}>
        Enqueue
      </button>
      <Problem text={action.problem.value} />
    </form>
  );
}
