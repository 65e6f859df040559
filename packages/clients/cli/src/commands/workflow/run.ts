/** `aegis workflow run` and `aegis workflow watch`: start a run and follow it. */

import type { Client } from "@aegis/client/client.ts";
import { followEvents } from "@aegis/client/events.ts";
import type { Event } from "@aegis/contract/event.ts";
import { isId, type RunId } from "@aegis/contract/ids.ts";
import type { Run } from "@aegis/contract/run.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { shortId } from "../../format/run-lines.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { untilStopped } from "../../terminal/until-stopped.ts";
import { namingIdlePlugins } from "./idle-plugins.ts";
import { drawnWatch, printedWatch } from "./run-watch.ts";
import type { workflowCommands } from "./spec.ts";

export const run: Handler<typeof workflowCommands.run> = async (cx, args) => {
  const { values, wantsHelp } = typedArguments(args.arguments);
  if (wantsHelp) return (await import("./workflow.ts")).show(cx, { workflow: args.workflow });
  const { client } = await cx.daemon();
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
  // The stream begins before the start, so it includes the end even of a very short run.
  if (!args.detach) return follow(cx, client, started, { after, passed: [], isOpen: true });
  cx.show({ run: started }, started.id);
};

export const watch: Handler<typeof workflowCommands.watch> = async (cx, args) => {
  const { client } = await cx.daemon();
  const after = (await client.call("listEvents", { query: { limit: 1 } })).last_seq;
  const { run: found } = await client.call("getRun", { path: { run: args.run } });
  const passed = isDrawn(cx) ? await (await import("./workflow.ts")).phasesOf(client, found.id, after) : [];
  return follow(cx, client, found, { after, passed, isOpen: found.status === "running" });
};

/** A command inside a run's shell step reads the run's id from the environment. */
function withinOf({ env: { AEGIS_RUN: run = "" } }: Terminal): { within?: RunId } {
  return isId("run", run) ? { within: run } : {};
}

function isDrawn(cx: Terminal): boolean {
  return cx.interactive && !cx.json;
}

/** `passed` lists the checkpoints before the first followed event. */
async function follow(
  cx: Terminal,
  client: Client,
  { id, workflow }: Run,
  { after, passed, isOpen }: { after: number; passed: readonly string[]; isOpen: boolean },
): Promise<number> {
  if (!cx.json)
    cx.warn(`${workflow} ${shortId(id)}. Ctrl-C leaves it running; stop it with: aegis workflow cancel ${shortId(id)}`);
  const look = async () => (await client.call("getRun", { path: { run: id } })).run;
  const view = isDrawn(cx) ? drawnWatch(cx, look, passed) : printedWatch(cx, look);
  return untilStopped(cx, async (left) => {
    try {
      if (isOpen) {
        for await (const item of followEvents(client, { after, signal: left, reached: true })) {
          if (item.kind !== "event" || !("run" in item.event.data) || item.event.data.run !== id) continue;
          await view.take(item.event);
          if (isEnd(item.event)) break;
        }
      }
      const run = await look();
      if (run.status === "running" || left.aborted) return exitCodes.interrupted;
      view.close();
      view.end(run);
      return run.status === "ok" ? exitCodes.ok : exitCodes.failed;
    } finally {
      view.close();
    }
  });
}

/**
 * A run whose workflow is missing (for example while its plugin is replaced) resumes by itself, so it has not ended.
 */
function isEnd(event: Event): boolean {
  return event.type === "run.ended" || (event.type === "run.parked" && event.data.reason !== "missing");
}

type TypedArguments = { values: Record<string, string | string[]>; wantsHelp: boolean };

/** Parses `--name value`, `--name=value` and `--flag`. A repeated name makes a list. */
function typedArguments(words: readonly string[]): TypedArguments {
  const values: Record<string, string | string[]> = {};
  let wantsHelp = false;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--help" || word === "-h") {
      wantsHelp = true;
      continue;
    }
    const match = /^--([a-z][a-z0-9_-]*)(?:=(.*))?$/isu.exec(word);
    if (match === null)
      throw usageError(`"${word}" is not an argument of a workflow`, "give arguments as --name value");
    const name = (match[1] ?? "").replaceAll("-", "_");
    const next = words[index + 1];
    const takesNext = match[2] === undefined && next !== undefined && !next.startsWith("--");
    const value = match[2] ?? (takesNext ? next : "");
    if (takesNext) index += 1;
    const before = values[name];
    values[name] = before === undefined ? value : [before, value].flat();
  }
  return { values, wantsHelp };
}

function jsonArguments(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usageError(`--kwargs is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (isRecord(value)) return value;
  throw usageError('--kwargs must be a JSON object, as in {"name": "value"}');
}
