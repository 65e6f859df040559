/** A month with past firings and planned slots. A phone shows only the days that have some, one below the other. */

import type { Firing } from "@aegis/contract/schedule.ts";
import { useState } from "preact/hooks";
import { link } from "../app/router.ts";
import { type Day, daysOf, monthOf, type Slot, shifted, unfinished } from "../model/calendar.ts";
import { clock, oneLine, visible } from "../model/format.ts";
import { Empty } from "./facts.tsx";

const marks: Readonly<Record<Slot["status"], readonly [mark: string, kind: string]>> = {
  planned: ["○", "planned"],
  waiting: ["○", "planned"],
  claimed: ["●", "active"],
  running: ["●", "active"],
  ok: ["✓", "ok"],
  error: ["✕", "err"],
  skipped: ["–", "dim"],
};

const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

export function Calendar(props: {
  firings: readonly Firing[];
  planned: readonly { at: number; name: string }[];
  /** How many slots of a schedule are known at most. */
  most: number;
  now: number;
}) {
  const { firings, planned, now } = props;
  const [month, setMonth] = useState(() => monthOf(now));
  const days = daysOf(month, firings, planned);
  const title = new Date(month.year, month.month).toLocaleDateString("en-GB", { month: "long", year: "numeric" });
  const cutOff = unfinished(month, planned, props.most);
  return (
    <section class="calendar" aria-label="Calendar">
      <header>
        <h2 aria-live="polite">{title}</h2>
        <div class="buttons">
          <button type="button" aria-label="Previous month" onClick={() => setMonth(shifted(month, -1))}>
            ‹
          </button>
          <button type="button" onClick={() => setMonth(monthOf(now))}>
            Today
          </button>
          <button type="button" aria-label="Next month" onClick={() => setMonth(shifted(month, 1))}>
            ›
          </button>
        </div>
      </header>
      <div class="weekdays dim" aria-hidden="true">
        {weekdays.map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      <ol>
        {days.map((day) => (
          <DayCell
            key={day.date.getTime()}
            day={day}
            isToday={day.date.toDateString() === new Date(now).toDateString()}
          />
        ))}
      </ol>
      {days.some(({ inMonth, slots }) => inMonth && slots.length > 0) ? null : (
        <Empty>Nothing fired and nothing is planned in {title}.</Empty>
      )}
      {cutOff.length === 0 ? null : (
        <p class="dim">
          Only the next {props.most} slots are known of: {cutOff.map(visible).join(", ")}.
        </p>
      )}
    </section>
  );
}

function DayCell({ day: { date, inMonth, slots }, isToday }: { day: Day; isToday: boolean }) {
  const name = date.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" });
  return (
    <li
      class={`day ${inMonth ? "" : "outside"} ${slots.length === 0 ? "none" : ""}`}
      aria-current={isToday ? "date" : undefined}
    >
      <b class="date">
        <span class="long">{name}</span>
        <span class="short" aria-hidden="true">
          {date.getDate()}
        </span>
      </b>
      {slots.length === 0 ? null : (
        <ul>
          {slots.map((slot) => (
            <SlotEntry key={`${slot.status} ${slot.name}`} slot={slot} />
          ))}
        </ul>
      )}
    </li>
  );
}

function SlotEntry({ slot: { name, at, times, status, effect, outcome } }: { slot: Slot }) {
  const [mark, kind] = marks[status];
  const href = effect === null ? null : placeOf(effect);
  const text = oneLine(name, 60);
  return (
    <li class={`slot ${kind}`} title={[status, oneLine(outcome, 200)].filter(Boolean).join(": ")}>
      <span aria-hidden="true">{mark}</span>
      <span class="unseen">{status}</span> <time class="mono">{clock(at)}</time>{" "}
      {href === null ? <span class="name">{text}</span> : <a href={href}>{text}</a>}
      {times === 1 ? null : <span class="dim"> ×{times}</span>}
    </li>
  );
}

/** Where the work that a firing started is shown. */
function placeOf(effect: string): string | null {
  if (effect.startsWith("run_")) return link("workflows", effect);
  if (effect.startsWith("ses_")) return link("s", effect);
  return effect.startsWith("tsk_") ? link("queues") : null;
}
