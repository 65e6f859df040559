import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import { reduce } from "../src/reduce.ts";
import { emptyState } from "../src/state.ts";

it("follows a run from its start over its steps and checkpoints to its end", () => {
  const run = newId("run", 1);
  const of = { run, workflow: "work" };
  const step = { method: "bash", label: "bash ls", scope: "", error: null, duration_ms: 1 };
  let seq = 0;
  const event = (type: Event["type"], data: unknown) => ({ seq: ++seq, at: seq, session: null, type, data }) as Event;
  const begin = [
    event("run.started", { ...of, args: { a: 1 }, host: null, forked_from: null }),
    event("run.step", { ...of, ...step, status: "begun" }),
    event("run.log", { ...of, level: "info", text: "hello", place: null }),
  ];
  const middle = begin.reduce(reduce, emptyState());
  expect(middle.runs[run]).toMatchObject({
    status: "running",
    lines: ["hello"],
    open: [{ label: "bash ls" }],
    steps_done: 0,
  });
  const rest = [
    event("run.step", { ...of, ...step, status: "ok" }),
    event("run.checkpoint", { ...of, epoch: 1, name: "half", payload: null }),
    event("run.parked", { ...of, reason: "diverged", detail: "x", recorded: null, asked: null, checkpoints: 0 }),
    event("run.resumed", { ...of, steps: 1, phase: "half" }),
    event("run.ended", { ...of, status: "ok", result: 7, error: null, callback: "none" }),
  ];
  const end = rest.reduce(reduce, middle);
  expect(end.runs[run]).toMatchObject({ status: "ok", phase: "half", result: 7, open: [], steps_done: 1, ended_at: 8 });
  // A run that waits goes on to wait after a restart: the step that had begun is not told again.
  const waits = reduce(middle, event("run.resumed", { ...of, steps: 0, phase: null }));
  expect(waits.runs[run]).toMatchObject({ status: "running", open: [{ label: "bash ls" }] });
  expect(reduce(emptyState(), event("run.log", { ...of, level: "info", text: "x", place: null })).runs).toEqual({});
});
