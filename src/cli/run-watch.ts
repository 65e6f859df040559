/** A run as it goes: a block that is drawn anew in place, or a line for each event. */
import type { Event } from "../contract/event.ts";
import type { RunView } from "../contract/run.ts";
import { eventLine } from "./format/event-line.ts";
import { endLines, runBlock } from "./format/run-lines.ts";
import { createStyle } from "./format/style.ts";
import { SessionNames } from "./session-names.ts";
import type { Terminal } from "./terminal.ts";

export type RunWatch = {
  /** Takes in what has happened. */
  take(event: Event): Promise<void>;
  end(run: RunView): void;
  close(): void;
};

/** Asks the daemon how the run stands. */
export type Look = () => Promise<RunView>;

/** Of a run that asks for much, not every step is worth a look of its own. */
const drawEveryMs = 200;
/** Elapsed time and cost move without any event of the run. */
const restMs = 1000;
const narrowest = 40;
const mostLines = 5;

/** Redraws how the run stands, within the rows that the terminal has. `passed` are the checkpoints before it began. */
export function drawnWatch(cx: Terminal, look: Look, passed: readonly string[]): RunWatch {
  const phases = [...passed];
  const lines: string[] = [];
  let height = 0;
  let isNews = true;
  let drawnAt = 0;
  let isLooking = false;
  const closed = new AbortController();

  const draw = (run: RunView) => {
    // Some terminals do not tell how wide they are.
    const width = Math.max(narrowest, cx.columns);
    // The cursor stands in a row of its own below the block.
    const rows = Math.max(3, cx.rows - 1);
    const block = runBlock(run, { phases, lines }, { color: cx.color, width, now: Date.now(), rows });
    const back = height === 0 ? "" : `\u001b[${Math.min(height, rows)}A\u001b[J`;
    cx.write(`${back}${block.join("\n")}\n`);
    height = block.length;
  };
  const refresh = async () => {
    if (isLooking || (!isNews && Date.now() - drawnAt < restMs)) return;
    isLooking = true;
    isNews = false;
    drawnAt = Date.now();
    try {
      const run = await look();
      if (!closed.signal.aborted) draw(run);
    } catch {
      // The daemon may be on its way up again; whoever follows its events knows when it stays away.
      isNews = true;
    }
    isLooking = false;
  };
  const timer = setInterval(() => void refresh(), drawEveryMs);
  void refresh();

  return {
    async take(event) {
      isNews = true;
      if (event.type === "run.checkpoint") notePhase(phases, event.data);
      if (event.type === "run.log") lines.push(event.data.text);
      if (event.type === "run.output") lines.push(...event.data.text.trimEnd().split("\n"));
      lines.splice(0, Math.max(0, lines.length - mostLines));
    },
    end(run) {
      draw(run);
    },
    close() {
      clearInterval(timer);
      closed.abort();
    },
  };
}

/** One line per event on stderr; the result alone goes to stdout, so that it can be piped. */
export function printedWatch(cx: Terminal, look: Look): RunWatch {
  const style = createStyle(cx.color);
  return {
    async take(event) {
      if (cx.json) return;
      const line = eventLine(event, { style, width: cx.columns, names: new SessionNames([]) });
      if (line !== null) cx.warn(line);
      const asks = event.type === "run.step" && event.data.method === "askHuman" && event.data.status === "begun";
      for (const ask of asks ? (await look()).asks : []) cx.warn(`  answer with: aegis answer ${ask} "…"`);
    },
    end(run) {
      if (cx.json) cx.printJson({ run });
      else if (run.status === "ok") cx.print(typeof run.result === "string" ? run.result : JSON.stringify(run.result));
      else for (const line of endLines(run, style)) cx.warn(line.trim());
    },
    close: () => {},
  };
}

/** A run that was sent back passes checkpoints again: those that followed are not passed any more. */
export function notePhase(phases: string[], { epoch, name }: { epoch: number; name: string }): void {
  phases.length = Math.min(phases.length, epoch - 1);
  phases.push(name);
}
