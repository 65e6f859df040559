/** `aegis workflow run` and `aegis workflow watch`: a run as it goes. */
import type { Client } from "../../client/client.ts";
import { followEvents } from "../../client/events.ts";
import type { Event } from "../../contract/event.ts";
import { isId, type RunId } from "../../contract/ids.ts";
import type { Run } from "../../contract/run.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { shortId } from "../format/run-lines.ts";
import { namingIdlePlugins } from "../idle-plugins.ts";
import { drawnWatch, printedWatch } from "../run-watch.ts";
import type { Terminal } from "../terminal.ts";
import { jsonArguments, typedArguments } from "../workflow-arguments.ts";

export type RunArgs = {
  workflow: string;
  arguments: readonly string[];
  kwargs: string | undefined;
  host: string | undefined;
  detach: boolean;
};

export async function run(cx: Terminal, args: RunArgs): Promise<number> {
  const { values, wantsHelp } = typedArguments(args.arguments);
  if (wantsHelp) return (await import("./workflow.ts")).show(cx, { workflow: args.workflow });
  const { client } = await ensureDaemon(cx);
  const after = (await client.call("listEvents", { query: { limit: 1 } })).last_seq;
  const starting = client.call("startRun", {
    path: { workflow: args.workflow },
    body: {
      args: jsonArguments(args.kwargs),
      text_args: values,
      ...(args.host === undefined ? {} : { host: args.host, callback: true }),
      ...withinOf(cx),
    },
  });
  const { run: started } = await namingIdlePlugins(client, starting);
  // Its end is among the events that follow, however soon it comes.
  if (!args.detach) return follow(cx, client, started, { after, passed: [], isOpen: true });
  if (cx.json) cx.printJson({ run: started });
  else cx.print(started.id);
  return exitCodes.ok;
}

export async function watch(cx: Terminal, args: { run: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const after = (await client.call("listEvents", { query: { limit: 1 } })).last_seq;
  const { run: found } = await client.call("getRun", { path: { run: args.run } });
  const passed = isDrawn(cx) ? await (await import("./workflow.ts")).phasesOf(client, found.id, after) : [];
  return follow(cx, client, found, { after, passed, isOpen: found.status === "running" });
}

/** The commands of a run know which one they belong to. */
function withinOf({ env: { AEGIS_RUN: run = "" } }: Terminal): { within?: RunId } {
  return isId("run", run) ? { within: run } : {};
}

function isDrawn(cx: Terminal): boolean {
  return cx.interactive && !cx.json;
}

/** `passed` are the checkpoints before the first event that is followed. */
async function follow(
  cx: Terminal,
  client: Client,
  { id, workflow }: Run,
  { after, passed, isOpen }: { after: number; passed: readonly string[]; isOpen: boolean },
): Promise<number> {
  const left = new AbortController();
  const undo = cx.onStop(() => left.abort());
  if (!cx.json)
    cx.warn(`${workflow} ${shortId(id)}. Ctrl-C leaves it running; stop it with: aegis workflow cancel ${shortId(id)}`);
  const look = async () => (await client.call("getRun", { path: { run: id } })).run;
  const view = isDrawn(cx) ? drawnWatch(cx, look, passed) : printedWatch(cx, look);
  try {
    if (isOpen) {
      for await (const item of followEvents(client, { after, signal: left.signal })) {
        if (item.kind !== "event" || !("run" in item.event.data) || item.event.data.run !== id) continue;
        await view.take(item.event);
        if (isEnd(item.event)) break;
      }
    }
    const run = await look();
    if (run.status === "running" || left.signal.aborted) return exitCodes.interrupted;
    view.close();
    view.end(run);
    return run.status === "ok" ? exitCodes.ok : exitCodes.failed;
  } finally {
    view.close();
    undo();
  }
}

/** One whose workflow is not there, as while its plugin is replaced, goes on by itself. */
function isEnd(event: Event): boolean {
  return event.type === "run.ended" || (event.type === "run.parked" && event.data.reason !== "missing");
}
