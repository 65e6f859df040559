/** `aegis workflow run` and `aegis workflow watch`: a run as it goes. */
import type { Client } from "../../client/client.ts";
import { followEvents } from "../../client/events.ts";
import type { Event } from "../../contract/event.ts";
import type { Run, RunView } from "../../contract/run.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { eventLine } from "../format/event-line.ts";
import { endLines, runBlock, shortId } from "../format/run-lines.ts";
import { createStyle } from "../format/style.ts";
import { SessionNames } from "../session-names.ts";
import type { Terminal } from "../terminal.ts";
import { jsonArguments, typedArguments } from "../workflow-arguments.ts";

const narrowest = 40;
const ends: ReadonlySet<Event["type"]> = new Set<Event["type"]>(["run.ended", "run.parked"]);

export type RunArgs = {
  workflow: string;
  arguments: readonly string[];
  kwargs: string | undefined;
  host: string | undefined;
  detach: boolean;
};

export async function run(cx: Terminal, args: RunArgs): Promise<number> {
  const { values, wantsHelp } = typedArguments(args.arguments);
  if (args.workflow === "--help" || args.workflow === "-h") return (await import("./workflow.ts")).list(cx);
  if (wantsHelp) return (await import("./workflow.ts")).show(cx, { workflow: args.workflow });
  const { client } = await ensureDaemon(cx);
  const after = (await client.call("listEvents", { query: { limit: 1 } })).last_seq;
  const { run: started } = await client.call("startRun", {
    path: { workflow: args.workflow },
    body: {
      args: jsonArguments(args.kwargs),
      text_args: values,
      ...(args.host === undefined ? {} : { host: args.host, callback: true }),
    },
  });
  if (!args.detach) return follow(cx, client, started, { after, passed: [] });
  if (cx.json) cx.printJson({ run: started });
  else cx.print(started.id);
  return exitCodes.ok;
}

export async function watch(cx: Terminal, args: { run: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { run: found } = await client.call("getRun", { path: { run: args.run } });
  const after = (await client.call("listEvents", { query: { limit: 1 } })).last_seq;
  const passed = isDrawn(cx) ? await (await import("./workflow.ts")).phasesOf(client, found.id, after) : [];
  return follow(cx, client, found, { after, passed });
}

function isDrawn(cx: Terminal): boolean {
  return cx.interactive && !cx.json;
}

/** `passed` are the checkpoints before the first event that is followed. */
async function follow(
  cx: Terminal,
  client: Client,
  { id, workflow }: Run,
  { after, passed }: { after: number; passed: readonly string[] },
): Promise<number> {
  const left = new AbortController();
  const undo = cx.onStop(() => left.abort());
  const view = isDrawn(cx) ? new Block(cx, passed) : new Lines(cx);
  const look = async () => (await client.call("getRun", { path: { run: id } })).run;
  try {
    if (!cx.json)
      cx.warn(
        `${workflow} ${shortId(id)}. Ctrl-C leaves it running; stop it with: aegis workflow cancel ${shortId(id)}`,
      );
    let run = await look();
    view.show(run, null);
    const ticks = cx.interactive ? setInterval(() => view.show(run, null), 1000) : null;
    try {
      if (run.status === "running") {
        for await (const item of followEvents(client, { after, signal: left.signal })) {
          if (item.kind !== "event" || !concerns(item.event, run)) continue;
          run = await look();
          view.show(run, item.event);
          // Its row may be ahead of the events: only the event says that all of them have been shown.
          if (ends.has(item.event.type)) break;
        }
      }
    } finally {
      if (ticks !== null) clearInterval(ticks);
    }
    if (run.status === "running") return exitCodes.interrupted;
    view.end(run);
    return run.status === "ok" ? exitCodes.ok : exitCodes.failed;
  } finally {
    undo();
  }
}

function concerns(event: Event, run: RunView): boolean {
  if ("run" in event.data) return event.data.run === run.id;
  // Its agents' turns show in what it costs.
  return event.type === "turn.ended" && run.agents.some((agent) => agent.session === event.session);
}

/** Redraws how the run stands, in place. */
class Block {
  readonly #cx: Terminal;
  readonly #phases: string[];
  readonly #lines: string[] = [];
  #height = 0;

  constructor(cx: Terminal, passed: readonly string[]) {
    this.#cx = cx;
    this.#phases = [...passed];
  }

  show(run: RunView, event: Event | null): void {
    if (event?.type === "run.checkpoint") this.#phases.push(event.data.name);
    if (event?.type === "run.log") this.#lines.push(event.data.text);
    if (event?.type === "run.output") this.#lines.push(...event.data.text.trimEnd().split("\n"));
    // Some terminals do not tell how wide they are.
    const look = { color: this.#cx.color, width: Math.max(narrowest, this.#cx.columns), now: Date.now() };
    const block = runBlock(run, { phases: this.#phases, lines: this.#lines.slice(-5) }, look);
    const back = this.#height === 0 ? "" : `\u001b[${this.#height}A\u001b[J`;
    this.#cx.write(`${back}${block.join("\n")}\n`);
    this.#height = block.length;
  }

  end(_run: RunView): void {}
}

/** One line per event, for pipes. */
class Lines {
  readonly #cx: Terminal;

  constructor(cx: Terminal) {
    this.#cx = cx;
  }

  show(run: RunView, event: Event | null): void {
    // Turns of its agents only change what it costs.
    if (event === null || event.session !== null || this.#cx.json) return;
    const line = eventLine(event, {
      style: createStyle(this.#cx.color),
      width: this.#cx.columns,
      names: new SessionNames([]),
    });
    if (line !== null) this.#cx.warn(line);
    for (const ask of event.type === "run.step" && event.data.method === "askHuman" ? run.asks : []) {
      this.#cx.warn(`  answer with: aegis answer ${ask} "…"`);
    }
  }

  /** The result alone goes to stdout, so that it can be piped. */
  end(run: RunView): void {
    if (this.#cx.json) this.#cx.printJson({ run });
    else if (run.status === "ok")
      this.#cx.print(typeof run.result === "string" ? run.result : JSON.stringify(run.result));
    else for (const line of endLines(run, createStyle(this.#cx.color))) this.#cx.warn(line.trim());
  }
}
