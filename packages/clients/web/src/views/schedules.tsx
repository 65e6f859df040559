/** Schedules, and a calendar of their next slots and past firings. */
import type { ScheduleView } from "@aegis/contract/schedule.ts";
import { client } from "../app/client.ts";
import { typeBegins, useResource } from "../app/resource.ts";
import { now } from "../app/store.ts";
import { age, duration, oneLine, visible, when } from "../model/format.ts";
import { Calendar } from "../parts/calendar.tsx";
import { Empty, Problem } from "../parts/facts.tsx";
import { ActionButton, Page, StatusWord, Table } from "../parts/page.tsx";

/** As many as the API lists. */
const mostSlots = 100;
const mostFirings = 1_000;
/** The table lists the newest firings; the calendar has them all. */
const listedFirings = 50;

const load = async () => {
  const [{ schedules, held }, { firings }] = await Promise.all([
    client.call("listSchedules"),
    client.call("listFirings", { query: { limit: mostFirings } }),
  ]);
  const planned = await Promise.all(
    schedules
      .filter((one) => one.next_at !== null)
      .map(async ({ name }) => {
        const { times } = await client.call("nextFirings", { path: { schedule: name }, query: { count: mostSlots } });
        return times.map((at) => ({ at, name }));
      }),
  );
  return { schedules, held, firings, planned: planned.flat() };
};

export function SchedulesPage() {
  const { data, problem } = useResource(load, typeBegins("schedule."));
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  return (
    <Page title="Schedules">
      <Problem text={problem} />
      {data.held.map(({ name, reason }) => (
        <p key={name} class="warn">
          {visible(name)}: {visible(reason)}
        </p>
      ))}
      <Table
        label="Schedules"
        rows={data.schedules}
        keyOf={(one) => one.name}
        empty={
          <>
            The project has no schedules. Declare one with <code>aegis schedule add</code>.
          </>
        }
        columns={[
          { name: "Schedule", cell: (one) => <b>{visible(one.name)}</b> },
          { name: "Starts", wide: true, cell: (one) => actionText(one) },
          { name: "When", cell: (one) => <code>{one.cron ?? "once"}</code> },
          { name: "Zone", cell: (one) => <span class="dim">{one.timezone}</span> },
          {
            name: "Next",
            cell: (one) =>
              one.next_at === null ? (
                <span class="dim">none</span>
              ) : (
                <span title={when(one.next_at, now())}>in {age(Math.max(0, one.next_at - now()))}</span>
              ),
          },
          { name: "Fired", number: true, cell: (one) => one.fires },
          { name: "", cell: (one) => <ScheduleActions schedule={one} /> },
        ]}
      />
      {data.schedules.length === 0 && data.firings.length === 0 ? null : (
        <Calendar firings={data.firings} planned={data.planned} most={mostSlots} now={now()} />
      )}
      <h2>Firings</h2>
      <Table
        label="Firings"
        rows={data.firings.slice(0, listedFirings)}
        keyOf={(one) => one.id}
        empty="Nothing has fired yet."
        columns={[
          { name: "Status", cell: (one) => <StatusWord status={one.status} /> },
          { name: "Schedule", cell: (one) => visible(one.schedule) },
          { name: "Slot", cell: (one) => when(one.slot, now()) },
          {
            name: "Took",
            number: true,
            cell: (one) =>
              one.started_at === null || one.ended_at === null ? "" : duration(one.ended_at - one.started_at),
          },
          { name: "Outcome", wide: true, cell: (one) => oneLine(one.error ?? one.result ?? "", 160) },
        ]}
      />
    </Page>
  );
}

function actionText({ action }: ScheduleView): string {
  if (action.kind === "workflow") return `workflow ${visible(action.workflow)}`;
  if (action.kind === "queue") return `${visible(action.queue)}: ${oneLine(action.payload, 80)}`;
  return `${visible(action.agent)}: ${oneLine(action.prompt, 80)}`;
}

function ScheduleActions({ schedule }: { schedule: ScheduleView }) {
  const path = { schedule: schedule.name };
  const label = schedule.enabled ? "Disable" : "Enable";
  return (
    <div class="buttons">
      <ActionButton label="Run now" work={() => client.call("runSchedule", { path, body: {} })} />
      <ActionButton
        label={label}
        kind="plain"
        work={() => client.call("updateSchedule", { path, body: { enabled: !schedule.enabled } })}
      />
    </div>
  );
}
