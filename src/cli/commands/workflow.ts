/** `aegis workflow …`: what can be run, what was run, and what to do about it. */
import type { Client } from "../../client/client.ts";
import type { Event } from "../../contract/event.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { type Cell, columns } from "../format/columns.ts";
import { endLines, runBlock, runTable, shortId, stepTable } from "../format/run-lines.ts";
import { createStyle } from "../format/style.ts";
import { plainText } from "../format/text.ts";
import { clockTime } from "../format/time.ts";
import { idlePlugins, namingIdlePlugins } from "../idle-plugins.ts";
import { notePhase } from "../run-watch.ts";
import type { Terminal } from "../terminal.ts";

const pageSize = 1000;

export async function list(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { workflows } = await client.call("listWorkflows");
  if (cx.json) {
    cx.printJson({ workflows });
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  const header: Cell[] = ["WORKFLOW", "FROM", "DESCRIPTION"].map((text) => ({ text, paint: style.dim }));
  const rows = workflows.map((one): Cell[] => [
    { text: one.name, paint: style.cyan },
    { text: one.source },
    { text: one.description },
  ]);
  for (const line of columns(header, rows, cx.columns)) cx.print(line);
  for (const line of await idlePlugins(client)) cx.warn(line);
  return exitCodes.ok;
}

export async function show(cx: Terminal, args: { workflow: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const asked = client.call("getWorkflow", { path: { workflow: args.workflow } });
  const { workflow } = await namingIdlePlugins(client, asked);
  if (cx.json) {
    cx.printJson({ workflow });
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  cx.print(`${style.cyan(workflow.name)}  ${workflow.description}`);
  if (workflow.parameters.length === 0) cx.print("It takes no arguments.");
  const flags = workflow.parameters.map(({ name, type }) => `--${name.replaceAll("_", "-")} <${type}>`);
  const width = Math.max(0, ...flags.map((flag) => flag.length));
  for (const [index, { description, required, default: preset }] of workflow.parameters.entries()) {
    const note = required ? "(required)" : preset === null ? "" : `(default ${JSON.stringify(preset)})`;
    const about = [description, note === "" ? "" : style.dim(note)].filter((text) => text !== "").join(" ");
    cx.print(`  ${(flags[index] ?? "").padEnd(width)}  ${about}`.trimEnd());
  }
  for (const [name, value] of Object.entries(workflow.config)) {
    cx.print(style.dim(`  workflows.${workflow.name}.${name} in .aegis.yaml: ${JSON.stringify(value)}`));
  }
  const given = workflow.parameters.length === 0 ? "" : " --name value, or --kwargs '{…}'";
  cx.print(style.dim(`Run it with: aegis workflow run ${workflow.name}${given}`));
  cx.print(style.dim("Also: --detach to leave it running, --host <session> for the session it works for"));
  return exitCodes.ok;
}

export async function status(
  cx: Terminal,
  args: { run: string | undefined; limit: number | undefined },
): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const look = { color: cx.color, width: cx.columns, now: Date.now() };
  if (args.run === undefined) {
    const { runs } = await client.call("listRuns", { query: { limit: args.limit ?? 20 } });
    if (cx.json) cx.printJson({ runs });
    else if (runs.length === 0) cx.print("No runs.");
    else for (const line of runTable(runs, look)) cx.print(line);
    return exitCodes.ok;
  }
  const { run } = await client.call("getRun", { path: { run: args.run } });
  if (cx.json) cx.printJson({ run });
  else for (const line of runBlock(run, { phases: await phasesOf(client, run.id), lines: [] }, look)) cx.print(line);
  return exitCodes.ok;
}

export async function logs(cx: Terminal, args: { run: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  for await (const event of eventsOf(client, args.run)) {
    if (cx.json) cx.printJson(event);
    else for (const line of logLines(event)) cx.print(line);
  }
  return exitCodes.ok;
}

export async function resume(cx: Terminal, args: { run: string; force: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { run } = await client.call("resumeRun", { path: { run: args.run }, body: { force: args.force } });
  if (cx.json) cx.printJson({ run });
  else cx.print(`${run.workflow} ${shortId(run.id)} goes on. Watch it with: aegis workflow watch ${shortId(run.id)}`);
  return exitCodes.ok;
}

export async function cancel(cx: Terminal, args: { run: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { run } = await client.call("cancelRun", { path: { run: args.run }, body: {} });
  if (cx.json) cx.printJson({ run });
  else
    cx.print(
      run.status === "cancelled"
        ? `${run.workflow} ${shortId(run.id)} is cancelled.`
        : `It had ended before: ${run.status}.`,
    );
  return exitCodes.ok;
}

export async function fork(cx: Terminal, args: { run: string; checkpoint: number | undefined }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const body = args.checkpoint === undefined ? {} : { checkpoint: args.checkpoint };
  const { run } = await client.call("forkRun", { path: { run: args.run }, body });
  if (cx.json) cx.printJson({ run });
  else
    cx.print(`${run.workflow} ${shortId(run.id)} was started. Watch it with: aegis workflow watch ${shortId(run.id)}`);
  return exitCodes.ok;
}

export async function history(cx: Terminal, args: { run: string; limit: number | undefined }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { steps } = await client.call("listSteps", { path: { run: args.run }, query: { limit: args.limit ?? 10_000 } });
  if (cx.json) cx.printJson({ steps });
  else for (const line of stepTable(steps, { color: cx.color, width: cx.columns, now: Date.now() })) cx.print(line);
  return exitCodes.ok;
}

/** Runs go on by themselves when the daemon starts; this brings it up and tells which did. */
export async function resumed(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const [{ started_at: since }, { runs }] = await Promise.all([
    client.call("status"),
    client.call("listRuns", { query: { limit: pageSize } }),
  ]);
  const taken = runs.filter((run) => run.resumed_at !== null && run.resumed_at >= since);
  const parked = runs.filter((run) => run.status === "parked");
  if (cx.json) {
    cx.printJson({ resumed: taken, parked });
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  if (taken.length === 0) cx.print("No run had to be taken up again.");
  for (const run of taken) {
    cx.print(
      `${style.cyan(run.workflow)} ${shortId(run.id)} was taken up again${run.phase === null ? "" : ` after ${run.phase}`}: ${run.status}`,
    );
  }
  for (const run of parked) {
    cx.print(`${style.yellow(run.workflow)} ${shortId(run.id)} is parked`);
    for (const line of endLines(run, style)) cx.print(line);
  }
  return exitCodes.ok;
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
      return [`${time} taken up again after ${event.data.steps} steps`];
    case "run.parked":
      return [`${time} parked: ${event.data.detail}`];
    case "run.ended":
      return [`${time} ended: ${event.data.error?.message ?? event.data.status}`];
    default:
      return [];
  }
}
