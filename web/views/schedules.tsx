/** Schedules: the next times, and what past firings became. */
import type { ScheduleView } from "../../src/contract/schedule.ts";
import { client } from "../app/client.ts";
import { typeBegins, useResource } from "../app/resource.ts";
import { now } from "../app/store.ts";
import { age, duration, oneLine, visible, when } from "../model/format.ts";
import { Empty, Problem } from "../parts/facts.tsx";
import { ActionButton, Page, StatusWord, Table } from "../parts/page.tsx";

const load = async () => {
  const [{ schedules, held }, { firings }] = await Promise.all([
    client.call("listSchedules"),
    client.call("listFirings"),
  ]);
  const upcoming = await Promise.all(
    schedules
      .filter((one) => one.next_at !== null)
      .map(async ({ name }) => {
        const { times } = await client.call("nextFirings", { path: { schedule: name }, query: { count: 5 } });
        return times.map((at) => ({ at, name }));
      }),
  );
  return { schedules, held, firings, upcoming: upcoming.flat().sort((a, b) => a.at - b.at) };
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
        empty="The project has no schedules. Declare one with: aegis schedule add"
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
      <h2>Next</h2>
      <Agenda upcoming={data.upcoming} />
      <h2>Firings</h2>
      <Table
        label="Firings"
        rows={data.firings}
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

/** The next slots of all schedules by day. */
function Agenda({ upcoming }: { upcoming: readonly { at: number; name: string }[] }) {
  if (upcoming.length === 0) return <Empty>No slot is planned.</Empty>;
  const days = Map.groupBy(upcoming.slice(0, 20), ({ at }) =>
    new Date(at).toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" }),
  );
  return (
    <ol class="agenda">
      {[...days].map(([day, slots]) => (
        <li key={day}>
          <b>{day}</b>
          <ul>
            {slots.map(({ at, name }) => (
              <li key={`${at} ${name}`}>
                <time class="mono">{new Date(at).toTimeString().slice(0, 5)}</time> {visible(name)}
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}
