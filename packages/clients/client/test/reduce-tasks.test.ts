import type { NewEvent } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { task as taskRow } from "@aegis/test/helpers/rows.ts";
import { expect, test } from "vitest";
import { reduce } from "../src/reduce.ts";
import { emptyState } from "../src/state.ts";

const id = newId("tsk", 1);
const worker = newId("ses", 1);
const task = taskRow({ id, callback: false, enqueued_at: 1 });
const about = { queue: "work", task: id };

function play(...events: NewEvent[]) {
  return events.reduce((state, event, n) => reduce(state, { ...event, seq: n + 1, at: 100 + n }), emptyState());
}

const enqueued: NewEvent = { type: "task.enqueued", session: null, data: { queue: "work", task } };
const dispatched: NewEvent = { type: "task.dispatched", session: null, data: { ...about, attempt: 1, worker } };

test("a task is followed from its queue to its end, and back when it is put back", () => {
  const deferred: NewEvent = { type: "task.deferred", session: null, data: { ...about, worker, waiting_on: ["you"] } };
  const ended: NewEvent = {
    type: "task.ended",
    session: null,
    data: { ...about, status: "failed", result: "words", error: "broken", callback: "none" },
  };
  const back: NewEvent = {
    type: "task.requeued",
    session: null,
    data: { ...about, reason: "put back", failures: 0, not_before: null },
  };
  expect(play(enqueued).tasks[id]).toEqual({ ...task, waiting_on: [] });
  const waiting = play(enqueued, dispatched, deferred).tasks[id];
  expect(waiting).toMatchObject({ status: "dispatched", attempts: 1, worker, dispatched_at: 101, waiting_on: ["you"] });
  expect(play(enqueued, dispatched, deferred, ended).tasks[id]).toMatchObject({
    status: "failed",
    error: "broken",
    result: "words",
    ended_at: 103,
    waiting_on: [],
  });
  expect(play(enqueued, dispatched, ended, back).tasks[id]).toMatchObject({
    status: "pending",
    error: null,
    result: null,
    ended_at: null,
    dispatched_at: null,
  });
});

test("a task whose beginning was not seen is passed over", () => {
  expect(play(dispatched)).toEqual({ ...emptyState(), last_seq: 1 });
});
