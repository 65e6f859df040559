/** The event log: newest first, filtered by type and session; a row opens to its whole data. */

import type { Event } from "@aegis/contract/event.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import { client } from "../app/client.ts";
import { failedToLoad } from "../app/resource.ts";
import { link } from "../app/router.ts";
import { board, onStream } from "../app/store.ts";
import { clock, oneLine, plural, visible } from "../model/format.ts";
import { Empty, Problem } from "../parts/facts.tsx";
import { Page } from "../parts/page.tsx";

const mostEvents = 1_000;
const mostRows = 300;

export function EventsPage() {
  const [events, setEvents] = useState<readonly Event[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [filter, setFilter] = useState("");
  useEffect(() => {
    let known: readonly Event[] = [];
    const take = (more: readonly Event[]) => {
      const last = known[0]?.seq ?? 0;
      const fresh = more.filter((event) => event.seq > last);
      if (fresh.length === 0 && known.length > 0) return;
      known = [...fresh.toReversed(), ...known].slice(0, mostEvents);
      setEvents(known);
    };
    const stop = onStream((items) => {
      if (known.length > 0) take(items.flatMap((item) => (item.kind === "event" ? [item.event] : [])));
    });
    client
      .call("status")
      .then(({ last_seq }) =>
        client.call("listEvents", { query: { after: Math.max(0, last_seq - mostEvents), limit: mostEvents } }),
      )
      .then(
        (answer) => take(answer.events),
        (error: unknown) => setProblem(failedToLoad(error)),
      );
    return stop;
  }, []);
  const handles = useMemo(() => handlesIn(events ?? []), [events]);
  const handleOf = ({ session }: Event) =>
    session === null ? "" : (board.value.cards[session]?.handle ?? handles.get(session) ?? session);
  const shown = filtered(events ?? [], filter, handleOf);
  if (events === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  return (
    <Page
      title="Events"
      tools={
        <input
          type="search"
          aria-label="Filter by type, session or text"
          placeholder="Filter: turn.ended, a handle, a word"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      }
    >
      <Problem text={problem} />
      {shown.length === 0 ? (
        <Empty>None of the newest {mostEvents.toLocaleString("en-GB")} events matches the filter.</Empty>
      ) : null}
      <ol class="events" aria-label="Events">
        {shown.slice(0, mostRows).map((event) => (
          <li key={event.seq}>
            <details>
              <summary>
                <span class="dim mono">{event.seq}</span>
                <time class="dim">{clock(event.at, true)}</time>
                <code class="cut">{event.type}</code>
                <span class="dim cut">{handleOf(event)}</span>
                <span class="cut text">{oneLine(summaryOf(event), 120)}</span>
              </summary>
              <p class="buttons">
                {event.session === null ? null : <a href={link("s", event.session)}>Open the session</a>}
                {messageOf(event) === null ? null : <a href={link("why", messageOf(event) ?? "")}>Why this message?</a>}
              </p>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
              <pre class="code" tabIndex={0}>
                {visible(JSON.stringify(event.data, null, 2)).slice(0, 20_000)}
              </pre>
            </details>
          </li>
        ))}
      </ol>
      {shown.length > mostRows ? (
        <p class="dim">
          These are the newest {mostRows}. The filter finds the newest {mostEvents.toLocaleString("en-GB")};{" "}
          <code>aegis tail --after 0</code> prints them all.
        </p>
      ) : null}
    </Page>
  );
}

/** Names of sessions that are closed: the board has only open ones. */
function handlesIn(events: readonly Event[]): ReadonlyMap<string, string> {
  return new Map(
    events.flatMap((event) =>
      event.type === "session.created" ? [[event.data.session.id, event.data.session.handle] as const] : [],
    ),
  );
}

/** The message that the event is about. */
function messageOf({ data }: Event): string | null {
  if (!("message" in data)) return null;
  const { message } = data;
  const id = typeof message === "object" && message !== null && "id" in message ? message.id : message;
  return typeof id === "string" && id.startsWith("msg_") ? id : null;
}

/** Fields that tell a person nothing. */
const internal = new Set(["call", "callback", "scope"]);

/** The texts of the data that a person can read. */
function summaryOf(event: Event): string {
  const { data } = event;
  if (event.type === "changes.recorded") {
    const { files, added, deleted, problem } = event.data;
    return problem ?? (files === 0 ? "no changes" : `${plural(files, "file")} +${added} −${deleted}`);
  }
  const texts = Object.entries(data as Record<string, unknown>).flatMap(([key, value]) => {
    if (typeof value === "string" && !/^[a-z]{3}_/.test(value) && !internal.has(key)) return [value];
    if (key === "message" && typeof value === "object" && value !== null && "body" in value)
      return [String(value.body)];
    return [];
  });
  // `bash · bash npm test` says the first word twice.
  return texts.filter((text, index) => text !== "" && !texts[index + 1]?.startsWith(`${text} `)).join(" · ");
}

function filtered(events: readonly Event[], filter: string, handleOf: (event: Event) => string): readonly Event[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return events;
  return events.filter((event) => {
    const text = `${event.type} ${handleOf(event)} ${summaryOf(event)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
