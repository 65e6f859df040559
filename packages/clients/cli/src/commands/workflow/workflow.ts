/** `aegis workflow …`: lists workflows and runs, and controls runs. */

import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Run, WorkflowView } from "@aegis/contract/run.ts";
import { table, tableOptions } from "../../format/columns.ts";
import { endLines, runBlock, runTable, shortId, stepTable } from "../../format/run-lines.ts";
import type { Style } from "../../format/style.ts";
import { plainText } from "../../format/text.ts";
import { clockTime } from "../../format/time.ts";
import type { Exit, Handler } from "../../program/command.ts";
import { given } from "../../program/given.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { idlePlugins, namingIdlePlugins } from "./idle-plugins.ts";
import { notePhase } from "./run-watch.ts";
import type { workflowCommands } from "./spec.ts";

const pageSize = 1000;

export const list: Handler<typeof workflowCommands.list> = async (cx) => {
  const { client } = await cx.daemon();
  const { workflows } = await client.call("listWorkflows");
  const { style } = cx;
  cx.show({ workflows }, () =>
    table(cx, ["WORKFLOW", "FROM", "DESCRIPTION"], workflows, (one) => [
      { text: one.name, paint: style.cyan },
      one.source,
      one.description,
    ]),
  );
  if (!cx.json) for (const line of await idlePlugins(client)) cx.warn(line);
};

export const show: Handler<typeof workflowCommands.show> = async (cx, args) => {
  const { client } = await cx.daemon();
  const asked = client.call("getWorkflow", { path: { workflow: args.workflow } });
  const { workflow } = await namingIdlePlugins(client, asked);
  cx.show({ workflow }, () => workflowLines(workflow, cx.style));
};

export const status: Handler<typeof workflowCommands.status> = async (cx, args) => {
  const { client } = await cx.daemon();
  if (args.run === undefined) {
    const { runs } = await client.call("listRuns", { query: { limit: args.limit } });
    return cx.show({ runs }, () => (runs.length === 0 ? "No runs." : runTable(runs, tableOptions(cx))));
  }
  const { run } = await client.call("getRun", { path: { run: args.run } });
  const phases = cx.json ? [] : await phasesOf(client, run.id);
  cx.show({ run }, () => runBlock(run, { phases, lines: [] }, tableOptions(cx)));
};

export const logs: Handler<typeof workflowCommands.logs> = async (cx, args) => {
  const { client } = await cx.daemon();
  for await (const event of eventsOf(client, args.run)) cx.show(event, () => logLines(event));
};

export const resume: Handler<typeof workflowCommands.resume> = async (cx, args) => {
  const { run } = await cx.call("resumeRun", { path: { run: args.run }, body: { force: args.force } });
  cx.show({ run }, `${named(run)} was resumed. ${watchHint(run)}`);
};

export const cancel: Handler<typeof workflowCommands.cancel> = async (cx, args) => {
  const { run } = await cx.call("cancelRun", { path: { run: args.run }, body: {} });
  const wasOpen = run.status === "cancelled";
  cx.show({ run }, wasOpen ? `${named(run)} is cancelled.` : `It had already ended: ${run.status}.`);
};

export const fork: Handler<typeof workflowCommands.fork> = async (cx, args) => {
  const body = given({ checkpoint: args.checkpoint });
  const { run } = await cx.call("forkRun", { path: { run: args.run }, body });
  cx.show({ run }, `${named(run)} was started. ${watchHint(run)}`);
};

function named({ workflow, id }: Run): string {
  return `${workflow} ${shortId(id)}`;
}

function watchHint({ id }: Run): string {
  return `Watch it with: aegis workflow watch ${shortId(id)}`;
}

export const history: Handler<typeof workflowCommands.history> = async (cx, args) => {
  const { steps } = await cx.call("listSteps", { path: { run: args.run }, query: { limit: args.limit } });
  cx.show({ steps }, () => stepTable(steps, tableOptions(cx)));
};

/** Runs resume when the daemon starts. This starts it and prints which runs resumed. */
export async function resumed(cx: Terminal): Exit {
  const { client } = await cx.daemon();
  const [{ started_at: since }, { runs }] = await Promise.all([
    client.call("status"),
    client.call("listRuns", { query: { limit: pageSize } }),
  ]);
  const taken = runs.filter((run) => run.resumed_at !== null && run.resumed_at >= since);
  const parked = runs.filter((run) => run.status === "parked");
  const { style } = cx;
  cx.show({ resumed: taken, parked }, () => [
    ...(taken.length === 0 ? ["No run had to be resumed."] : []),
    ...taken.map((run) => {
      const after = run.phase === null ? "" : ` after ${run.phase}`;
      return `${style.cyan(run.workflow)} ${shortId(run.id)} was resumed${after}: ${run.status}`;
    }),
    ...parked.flatMap((run) => [`${style.yellow(run.workflow)} ${shortId(run.id)} is parked`, ...endLines(run, style)]),
  ]);
}

export async function phasesOf(client: Client, run: string, last = Number.POSITIVE_INFINITY): Promise<string[]> {
  const phases: string[] = [];
  for await (const event of eventsOf(client, run))
    if (event.type === "run.checkpoint" && event.seq <= last) notePhase(phases, event.data);
  return phases;
}

async function* eventsOf(client: Client, run: string): AsyncGenerator<Event> {
  for (let after = 0; ; ) {
    const { events } = await client.call("runEvents", { path: { run }, query: { after, limit: pageSize } });
    yield* events;
    after = events.at(-1)?.seq ?? after;
    if (events.length < pageSize) return;
  }
}

function logLines(event: Event): string[] {
  const time = clockTime(event.at);
  const lines = (text: string, mark: string) =>
    plainText(text)
      .trimEnd()
      .split("\n")
      .map((line) => `${time} ${mark}${line}`);
  switch (event.type) {
    case "run.log":
      return lines(event.data.text, event.data.level === "info" ? "" : `${event.data.level}: `);
    case "run.output":
      return lines(event.data.text, event.data.stream === "stderr" ? "! " : "| ");
    case "run.checkpoint":
      return [`${time} ✓ ${plainText(event.data.name)}`];
    case "run.resumed":
      return [`${time} resumed after ${event.data.steps} steps`];
    case "run.parked":
      return [`${time} parked: ${event.data.detail}`];
    case "run.ended":
      return [`${time} ended: ${event.data.error?.message ?? event.data.status}`];
    default:
      return [];
  }
}

function workflowLines({ name, description, parameters, config }: WorkflowView, style: Style): string[] {
  const flags = parameters.map((one) => `--${one.name.replaceAll("_", "-")} <${one.type}>`);
  const width = Math.max(0, ...flags.map((flag) => flag.length));
  const rows = parameters.map((one, index) => {
    const note = one.required ? "(required)" : one.default === null ? "" : `(default ${JSON.stringify(one.default)})`;
    const about = [one.description, style.dim(note)].filter((text) => text !== "").join(" ");
    return `  ${(flags[index] ?? "").padEnd(width)}  ${about}`.trimEnd();
  });
  const settings = Object.entries(config).map(([key, value]) =>
    style.dim(`  workflows.${name}.${key} in .aegis.yaml: ${JSON.stringify(value)}`),
  );
  const values = parameters.length === 0 ? "" : " --name value, or --kwargs '{…}'";
  return [
    `${style.cyan(name)}  ${description}`,
    ...(parameters.length === 0 ? ["It takes no arguments."] : rows),
    ...settings,
    style.dim(`Run it with: aegis workflow run ${name}${values}`),
    style.dim("Also: --detach to leave it running, --host <session> for the session it works for"),
  ];
}
