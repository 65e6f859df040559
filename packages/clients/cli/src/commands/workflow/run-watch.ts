/** Displays a running workflow: a block redrawn in place, or one line per event. */
import type { Event } from "@aegis/contract/event.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import type { RunView } from "@aegis/contract/run.ts";
import { eventLine } from "../../format/event-line.ts";
import { endLines, runBlock } from "../../format/run-lines.ts";
import { SessionNames } from "../../format/session-names.ts";
import { oneLine } from "../../format/text.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { receiptPaint } from "../worktree/receipts.ts";

export type RunWatch = {
  /** Handles an event. */
  take(event: Event): Promise<void>;
  end(run: RunView): void;
  close(): void;
};

/** Fetches the current state of the run from the daemon. */
export type FetchRun = () => Promise<RunView>;

/** Limits redraws for a run with many steps. */
const drawEveryMs = 200;
/** Elapsed time and cost change without an event of the run. */
const restMs = 1000;
const narrowest = 40;
const mostLines = 5;

/** Redraws the state of the run within the terminal's rows. `passed` lists the checkpoints reached before. */
export function drawnWatch(cx: Terminal, look: FetchRun, passed: readonly string[]): RunWatch {
  const phases = [...passed];
  const lines: string[] = [];
  let height = 0;
  let isNews = true;
  let drawnAt = 0;
  let isLooking = false;
  const closed = new AbortController();

  const draw = (run: RunView) => {
    // Some terminals do not report their width.
    const columns = Math.max(narrowest, cx.columns);
    // The cursor needs its own row below the block.
    const rows = Math.max(3, cx.rows - 1);
    const block = runBlock(run, { phases, lines }, { style: cx.style, columns, now: Date.now(), rows });
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
      // The daemon may be restarting; the event stream reports if it does not come back.
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

/** Prints one line per event to stderr and only the result to stdout, so that it can be piped. */
export function printedWatch(cx: Terminal, look: FetchRun): RunWatch {
  const style = cx.style;
  return {
    async take(event) {
      if (cx.json) return;
      const line = eventLine(event, { style, width: cx.columns, names: new SessionNames([]) });
      if (line !== null) cx.warn(line);
      const asks = event.type === "run.step" && event.data.method === "askHuman" && event.data.status === "begun";
      for (const ask of asks ? (await look()).asks : []) cx.warn(`  answer with: aegis answer ${ask} "…"`);
    },
    end(run) {
      cx.show({ run }, () => {
        for (const receipt of run.receipts.toReversed())
          cx.warn(receiptPaint(receipt, style)(oneLine(receiptWords(receipt))));
        if (run.status === "ok") cx.print(typeof run.result === "string" ? run.result : JSON.stringify(run.result));
        else for (const line of endLines(run, style)) cx.warn(line.trim());
      });
    },
    close: () => {},
  };
}

/** A run that was sent back reaches checkpoints again, so the ones after it are removed. */
export function notePhase(phases: string[], { epoch, name }: { epoch: number; name: string }): void {
  phases.length = Math.min(phases.length, epoch - 1);
  phases.push(name);
}
