/** Applies events to schedules. */
import type { Event, EventOf } from "@aegis/contract/event.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import type { ScheduleActivity, State } from "../state.ts";

export type ScheduleEvent = EventOf<
  | "schedule.added"
  | "schedule.changed"
  | "schedule.removed"
  | "schedule.fired"
  | "schedule.skipped"
  | "schedule.started"
  | "schedule.ended"
>;

export function isScheduleEvent(event: Event): event is ScheduleEvent {
  return event.type.startsWith("schedule.");
}

/** Firings that a client keeps per schedule. The schedule's history has all of them. */
const firingsKept = 50;

export function reduceSchedules(schedules: State["schedules"], event: ScheduleEvent): State["schedules"] {
  const { schedule: name } = event.data;
  if (event.type === "schedule.removed") {
    const { [name]: _, ...rest } = schedules;
    return rest;
  }
  const before = schedules[name] ?? { settings: null, firings: [] };
  return { ...schedules, [name]: reduceSchedule(before, event) };
}

function reduceSchedule(
  schedule: ScheduleActivity,
  event: Exclude<ScheduleEvent, EventOf<"schedule.removed">>,
): ScheduleActivity {
  switch (event.type) {
    case "schedule.added":
    case "schedule.changed":
      return { ...schedule, settings: event.data.settings };
    case "schedule.fired":
    case "schedule.skipped": {
      const { firing } = event.data;
      const others = schedule.firings.filter((one) => one.id !== firing.id);
      return { ...schedule, firings: [...others, firing].slice(-firingsKept) };
    }
    case "schedule.started": {
      const { effect } = event.data;
      return changed(schedule, event.data.firing, { status: "running", effect, started_at: event.at });
    }
    case "schedule.ended": {
      const { status, result, error } = event.data;
      return changed(schedule, event.data.firing, { status, result, error, ended_at: event.at });
    }
  }
}

function changed(schedule: ScheduleActivity, id: Firing["id"], change: Partial<Firing>): ScheduleActivity {
  const firings = schedule.firings.map((firing) => (firing.id === id ? { ...firing, ...change } : firing));
  return { ...schedule, firings };
}
