import type { Event, NewEvent } from "@aegis/contract/event.ts";
import { firingRow, scheduleRow } from "@aegis/test/suites/store-schedules.ts";
import { expect, it } from "vitest";
import { reduce } from "../src/reduce.ts";
import { emptyState } from "../src/state.ts";

it("knows of schedules what the events say, and an event taken twice changes nothing", () => {
  const firing = firingRow();
  const skipped = firingRow({ slot: 2_000, status: "skipped", error: "busy", ended_at: 2_000 });
  const { settings } = scheduleRow();
  const schedule = "nightly";
  const said: NewEvent["data"][] = [];
  let state = emptyState();
  const take = (event: NewEvent) => {
    said.push(event.data);
    const numbered = { ...event, seq: said.length, at: said.length * 1_000 } as Event;
    state = reduce(reduce(state, numbered), numbered);
  };
  take({ type: "schedule.fired", session: null, data: { schedule: "unknown", firing } });
  expect(state.schedules.unknown).toEqual({ settings: null, firings: [firing] });
  take({ type: "schedule.added", session: null, data: { schedule, settings } });
  take({ type: "schedule.fired", session: null, data: { schedule, firing } });
  take({ type: "schedule.started", session: null, data: { schedule, firing: firing.id, effect: "tsk_1" } });
  take({ type: "schedule.skipped", session: null, data: { schedule, firing: skipped } });
  const end = { schedule, firing: firing.id, status: "ok" as const, result: "fine", error: null, duration_ms: 9 };
  take({ type: "schedule.ended", session: null, data: end });
  const over = { ...firing, status: "ok", effect: "tsk_1", started_at: 4_000, result: "fine", ended_at: 6_000 };
  expect(state.schedules.nightly).toEqual({ settings, firings: [over, skipped] });
  take({ type: "schedule.removed", session: null, data: { schedule } });
  expect(Object.keys(state.schedules)).toEqual(["unknown"]);
});
