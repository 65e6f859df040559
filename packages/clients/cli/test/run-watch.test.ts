/** A run is drawn within the terminal, however much it has to show. */

import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import type { RunView, Step } from "@aegis/contract/run.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { drawnWatch, notePhase } from "../src/commands/workflow/run-watch.ts";
import { fitRows, runBlock } from "../src/format/run-lines.ts";
import { createStyle } from "../src/format/style.ts";
import type { Terminal } from "../src/terminal/terminal.ts";

const id = newId("run", 1);

function step(label: string): Step {
  const place = { run: id, epoch: 0, scope: "", method: "bash", ended: null, ended_at: null };
  return { ...place, label, status: "begun", error: null, started_at: 0 };
}

function view(change: Partial<RunView> = {}): RunView {
  return {
    id,
    workflow: "work",
    args: {},
    status: "running",
    host: null,
    callback: false,
    chain: null,
    hops: 0,
    code: "1",
    epoch: 0,
    phase: null,
    resumes: 0,
    retries: 0,
    forked_from: null,
    parked: null,
    result: null,
    error: null,
    created_at: 0,
    resumed_at: null,
    ended_at: null,
    host_handle: null,
    steps_done: 3,
    starter: null,
    open: [],
    agents: [],
    asks: [],
    receipts: [],
    cost: 0.25,
    ...change,
  };
}

const many = (count: number, what: string) => Array.from({ length: count }, (_, index) => `${what} ${index + 1}`);
const look = { style: createStyle(false), columns: 80, now: 1000 };

describe("a block of a run", () => {
  const asks = [newId("ask", 1), newId("ask", 2)];
  const run = view({ open: many(40, "step").map(step), asks });
  const more = { phases: many(100, "phase"), lines: many(5, "line") };

  it("shows everything where there is room", () => {
    expect(runBlock(run, more, look)).toHaveLength(1 + 100 + 40 + 2 + 5);
  });

  it.each([6, 10, 24, 50])("keeps to %i rows, with the newest of each kind and what is hidden", (rows) => {
    const block = runBlock(run, more, { ...look, rows });
    expect(block).toHaveLength(rows);
    expect(block[0]).toContain("work");
    expect(block[0]).toContain("$0.25");
    if (rows < 10) return;
    const shown = (mark: RegExp) => block.filter((line) => mark.test(line)).length;
    expect(block).toContain(`  … ${100 - shown(/✓ phase/)} earlier checkpoints`);
    expect(block).toContain(`  … ${40 - shown(/… step \d+ ·/)} more running steps`);
    if (shown(/✓ phase/) > 0) expect(block).toContain("  ✓ phase 100");
    if (shown(/… step \d+ ·/) > 0) expect(block.some((line) => line.includes("… step 40 ·"))).toBe(true);
    expect(shown(/aegis answer/)).toBeGreaterThan(0);
  });

  it("shows no step as in progress in a run that is parked", () => {
    const parked = {
      reason: "diverged" as const,
      detail: "it asked for something else",
      recorded: null,
      asked: null,
      checkpoints: 0,
    };
    const block = runBlock(view({ status: "parked", parked, open: [step("old")] }), { phases: [], lines: [] }, look);
    expect(block.join("\n")).not.toContain("old");
    expect(block.join("\n")).toContain("it asked for something else");
  });
});

it("gives rows in turns, so that no kind is crowded out", () => {
  const section = (name: string) => ({ lines: many(9, name), keep: "last" as const, hidden: (n: number) => `+${n}` });
  const sections = { a: section("a"), b: section("b"), c: { ...section("c"), keep: "first" as const } };
  expect(fitRows(sections, ["b", "a", "c"], 7)).toEqual(["+8", "a 9", "+7", "b 8", "b 9", "c 1", "+8"]);
  expect(fitRows(sections, ["b", "a", "c"], 2)).toEqual(["+9", "+9"]);
});

it("forgets the checkpoints that a run which was sent back passes again", () => {
  const phases: string[] = [];
  for (const [epoch, name] of [
    [1, "one"],
    [2, "two"],
    [1, "first"],
  ] as const)
    notePhase(phases, { epoch, name });
  expect(phases).toEqual(["first"]);
});

describe("a watch", () => {
  function watching(rows: number, run: () => RunView) {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const written: string[] = [];
    const write = (text: string) => written.push(text);
    const cx = { rows, columns: 80, style: createStyle(false), write } as unknown as Terminal;
    let looks = 0;
    const watch = drawnWatch(cx, async () => {
      looks += 1;
      return run();
    }, []);
    onTestFinished(() => watch.close());
    return { watch, written, looks: () => looks };
  }
  const pass = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
  };
  const line = (text: string) =>
    ({
      seq: 1,
      at: 0,
      type: "run.log",
      session: null,
      data: { run: id, workflow: "work", level: "info", text },
    }) as Event;

  it("draws over what it drew, never beyond the rows there are", async () => {
    const { watch, written } = watching(8, () => view({ open: many(30, "step").map(step) }));
    await pass(0);
    for (let second = 0; second < 3; second++) await pass(1000);
    expect(written.length).toBeGreaterThan(2);
    for (const [index, text] of written.entries()) {
      expect(text.endsWith("\n")).toBe(true);
      expect(text.split("\n").length - 1).toBe(7);
      if (index > 0) expect(text.startsWith("\u001b[7A\u001b[J")).toBe(true);
    }
    watch.close();
  });

  it("looks a few times a second at most, however much happens", async () => {
    const { watch, looks } = watching(20, () => view());
    await pass(0);
    for (let count = 0; count < 5000; count++) await watch.take(line(`line ${count}`));
    await pass(1000);
    expect(looks()).toBeLessThanOrEqual(6);
    expect(looks()).toBeGreaterThan(0);
  });
});
