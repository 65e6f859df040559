/** Prints a tour step by step, and fails it if one of its claims does not hold. */

import type { SessionView } from "@aegis/contract/session.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { sessionTable } from "../../format/session-table.ts";
import { createStyle } from "../../format/style.ts";
import { plainText, wrap } from "../../format/text.ts";
import { CliError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** A pause for reading, on terminals only. */
const pauseMs = 1_500;

export function expectThat(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** The folder and the processes of a tour. */
export type TourStage = {
  readonly root: string;
  /** What is printed after the folder was removed. */
  readonly goodbye: string;
  /** Ends everything that was started, also what starts at the moment. May be called again. */
  close(keep: boolean): Promise<void>;
};

/** Plays a tour, and cleans up also if it fails or is interrupted. */
export async function playTour<S extends TourStage>(
  cx: Terminal,
  create: () => Promise<S>,
  { keep, next, play }: { keep: boolean; next: string; play: (tour: Tour, stage: S) => Promise<void> },
): Promise<void> {
  const tour = new Tour(cx);
  let leaving: Promise<void> | null = null;
  const undo = cx.onStop(() => {
    // Also while the stage is created: its processes and folders exist by then.
    leaving ??= creating
      .then((stage) => stage.close(keep))
      .catch(() => {})
      .finally(() => cx.leave(exitCodes.interrupted));
  });
  const creating = create();
  const stage = await creating;
  try {
    await play(tour, stage);
    tour.end(next);
  } catch (error) {
    // What the interruption ended is no failure.
    if (leaving !== null) return await leaving;
    if (cx.json) cx.printJson({ ok: false, steps: tour.done, failed: tour.current });
    const what = error instanceof Error ? error.message : String(error);
    throw new CliError(exitCodes.failed, `the demo went wrong at "${tour.current}": ${what}`);
  } finally {
    await stage.close(keep);
    undo();
    cx.tell(keep ? `The folder is kept: ${stage.root}` : stage.goodbye);
  }
}

export class Tour {
  readonly done: string[] = [];
  current = "the start";
  readonly #cx: Terminal;

  constructor(cx: Terminal) {
    this.#cx = cx;
  }

  async step(title: string, explanation: readonly string[]): Promise<void> {
    if (this.done.length > 0 || this.current !== "the start") this.done.push(this.current);
    if (this.#cx.interactive && this.done.length > 0) await systemClock.sleep(pauseMs);
    this.current = title;
    const head = this.#cx.style.bold(`${this.done.length + 1}. ${title}`);
    this.#cx.tell([head, ...explanation.map((line) => `   ${line}`)]);
  }

  show(...lines: readonly string[]): void {
    this.#cx.tell(lines.map((line) => this.#cx.style.dim(`   ${line}`)));
  }

  say(session: SessionView, text: string): void {
    const who = `${session.agent} · ${session.handle} (offline)`;
    const width = Math.min(this.#cx.columns, 100) - 6;
    const lines = wrap(plainText(text).trim(), width);
    this.#cx.tell([`   ${this.#cx.style.cyan(who)}`, ...lines.map((line) => `   │ ${line}`)]);
  }

  table(sessions: readonly SessionView[]): string[] {
    return sessionTable(sessions, { style: createStyle(false), columns: this.#cx.columns - 3, now: systemClock.now() });
  }

  /** `next` is what the user can do now. */
  end(next: string): void {
    this.done.push(this.current);
    this.#cx.show({ ok: true, steps: this.done }, [
      this.#cx.style.green(`All ${this.done.length} steps happened as described; each was verified.`),
      next,
    ]);
  }
}
