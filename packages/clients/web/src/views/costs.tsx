/** Costs and load: what turns used over time, by what they were spent on. */
import type { UsageReport } from "@aegis/contract/usage.ts";
import { type UsageGrouping, usageBuckets, usageGroupings } from "@aegis/contract/usage-names.ts";
import { client } from "../app/client.ts";
import { typeBegins, useResource } from "../app/resource.ts";
import { link, query } from "../app/router.ts";
import { count, duration } from "../model/format.ts";
import {
  csvOf,
  dollars,
  isMeasure,
  type Measure,
  measures,
  type PlottedUsage,
  plotted,
  type Series,
  timeLabel,
  tokensOf,
} from "../model/usage.ts";
import { Empty, Problem } from "../parts/facts.tsx";
import { Page, Table } from "../parts/page.tsx";
import { Plot, seriesClass } from "../parts/plot.tsx";

const { day } = usageBuckets;
const ranges = {
  day: { title: "24 hours", ms: day, bucket: "hour" },
  week: { title: "7 days", ms: 7 * day, bucket: "day" },
  month: { title: "30 days", ms: 30 * day, bucket: "day" },
  quarter: { title: "90 days", ms: 90 * day, bucket: "day" },
} as const;
type Range = keyof typeof ranges;

const shownGroups = 7;

export function CostsPage() {
  const words = query.value;
  const by = usageGroupings.find((one) => one === words.get("by")) ?? "agent";
  const range = (Object.keys(ranges) as Range[]).find((one) => one === words.get("range")) ?? "week";
  const wanted = words.get("measure");
  const measure: Measure = isMeasure(wanted) ? wanted : "cost";
  const { data, problem } = useResource(() => load(by, range), typeBegins("turn.ended"), [by, range], 1_000);
  const choose = (change: Record<string, string>) => {
    const chosen = { by, range, measure, ...change };
    location.hash = `${link("costs")}?${new URLSearchParams(chosen)}`;
  };
  return (
    <Page
      title="Costs and load"
      tools={
        <>
          <Choice
            label="Measure"
            value={measure}
            options={Object.entries(measures).map(([value, { title }]) => [value, title])}
            choose={(value) => choose({ measure: value })}
          />
          <Choice
            label="Group by"
            value={by}
            options={usageGroupings.map((one) => [one, `by ${one}`])}
            choose={(value) => choose({ by: value })}
          />
          <Choice
            label="Time"
            value={range}
            options={Object.entries(ranges).map(([value, { title }]) => [value, title])}
            choose={(value) => choose({ range: value })}
          />
          <button type="button" disabled={data === null} onClick={() => data !== null && download(data)}>
            Export CSV
          </button>
        </>
      }
    >
      <Problem text={problem} />
      {data === null ? (
        problem === null && <Empty>Loading…</Empty>
      ) : data.groups.length === 0 ? (
        <Empty>{none(data.by)}</Empty>
      ) : (
        <Report report={data} measure={measure} />
      )}
    </Page>
  );
}

async function load(by: UsageGrouping, range: Range): Promise<UsageReport> {
  const { ms, bucket } = ranges[range];
  const to = Date.now();
  const offset = -new Date().getTimezoneOffset();
  const from = to - ms + usageBuckets[bucket];
  const { usage } = await client.call("getUsage", { query: { by, bucket, from, to, offset, limit: shownGroups } });
  return usage;
}

function Choice(props: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, title: string])[];
  choose: (value: string) => void;
}) {
  return (
    <select aria-label={props.label} value={props.value} onChange={(event) => props.choose(event.currentTarget.value)}>
      {props.options.map(([value, title]) => (
        <option key={value} value={value}>
          {title}
        </option>
      ))}
    </select>
  );
}

function Report({ report, measure }: { report: UsageReport; measure: Measure }) {
  const data = plotted(report, measure);
  const hasUnknown = data.series.some(({ total }) => total.cost_unknown > 0);
  return (
    <>
      <Plot data={data} measure={measure} bucket={report.bucket} />
      <Table
        label="Totals"
        rows={data.series}
        keyOf={({ key, isRest }) => (isRest ? "others" : `key ${key}`)}
        empty=""
        columns={[
          { name: title(report.by), wide: true, cell: (row) => <Name row={row} data={data} by={report.by} /> },
          { name: "Cost", number: true, cell: ({ total }) => costText(total) },
          { name: "Tokens", number: true, cell: ({ total }) => count(tokensOf(total)) },
          { name: "Output", number: true, cell: ({ total }) => count(total.output) },
          { name: "Turns", number: true, cell: ({ total }) => total.turns },
          { name: "Time", number: true, cell: ({ total }) => duration(total.duration_ms) },
          {
            name: "Errors",
            number: true,
            cell: ({ total }) => <span class={total.errors > 0 ? "err" : ""}>{total.errors}</span>,
          },
        ]}
      />
      {hasUnknown ? (
        <p class="dim">
          ≥: the cost of some turns is unknown. Set <code>prices</code> in the configuration to compute it.
        </p>
      ) : null}
      <details class="by-time">
        <summary>Values of the plot as a table</summary>
        <ByTime data={data} measure={measure} bucket={report.bucket} />
      </details>
    </>
  );
}

function costText({ cost, cost_unknown }: Series["total"]): string {
  if (cost_unknown > 0 && cost === 0) return "unknown";
  return `${cost_unknown > 0 ? "≥ " : ""}${dollars(cost)}`;
}

function Name({ row, data, by }: { row: Series; data: PlottedUsage; by: UsageGrouping }) {
  return (
    <span class="series-name">
      <i class={`swatch ${seriesClass(data.series.indexOf(row), row.isRest)}`} />
      {by === "session" && row.key !== null ? <a href={link("s", row.key)}>{row.name}</a> : row.name}
    </span>
  );
}

function ByTime({ data, measure, bucket }: { data: PlottedUsage; measure: Measure; bucket: UsageReport["bucket"] }) {
  const { text } = measures[measure];
  const rows = data.times.map((time, at) => ({ time, at })).filter(({ at }) => (data.totals[at] ?? 0) > 0);
  return (
    <Table
      label={`${measures[measure].title} by time`}
      rows={rows.toReversed()}
      keyOf={({ time }) => String(time)}
      empty="All values are zero."
      columns={[
        { name: "Time", cell: ({ time }) => timeLabel(time, bucket) },
        { name: "Total", number: true, cell: ({ at }) => text(data.totals[at] ?? 0) },
        ...data.series.map(({ name, values }) => ({
          name,
          number: true,
          cell: ({ at }: { at: number }) => text(values[at] ?? 0),
        })),
      ]}
    />
  );
}

/** Each turn has a session, an agent and a model; the others have started only some. */
function none(by: UsageGrouping): string {
  const isPart = by === "queue" || by === "workflow" || by === "schedule";
  return isPart ? `No turn in this time was started by a ${by}.` : "No turn began in this time.";
}

function title(by: UsageGrouping): string {
  return `${by[0]?.toUpperCase()}${by.slice(1)}`;
}

function download(report: UsageReport): void {
  const address = URL.createObjectURL(new Blob([csvOf(report)], { type: "text/csv" }));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = `aegis-usage-by-${report.by}.csv`;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
