/** Search over pages, sessions, runs, tasks, schedules and agents. Opened with Ctrl+K. */
import { useEffect, useRef, useState } from "preact/hooks";
import { client } from "../app/client.ts";
import { link } from "../app/router.ts";
import { oneLine, visible } from "../model/format.ts";
import { type Found, search } from "../model/search.ts";
import { places } from "./places.ts";

const pages: readonly Found[] = places
  .filter((place) => place.inNavigation)
  .map(({ title, word }) => ({ kind: "page", title, detail: "", href: word === "" ? "#/" : link(word) }));

async function everything(): Promise<Found[]> {
  const [sessions, runs, tasks, schedules, agents] = await Promise.all([
    client.call("listSessions", { query: { closed: true } }),
    client.call("listRuns"),
    client.call("listTasks"),
    client.call("listSchedules"),
    client.call("listAgents"),
  ]);
  return [
    ...pages,
    ...sessions.sessions.map(({ id, handle, title, agent, state }) => ({
      ...{
        kind: "session",
        title: handle,
        detail: [title, agent, state].filter(Boolean).join(" · "),
        href: link("s", id),
      },
    })),
    ...runs.runs.map(({ id, workflow, status }) => ({
      ...{ kind: "run", title: workflow, detail: `${status} · ${id}`, href: link("workflows", id) },
    })),
    ...tasks.tasks.map(({ payload, queue, status }) => ({
      ...{ kind: "task", title: oneLine(payload, 80), detail: `${queue} · ${status}`, href: link("queues") },
    })),
    ...schedules.schedules.map(({ name, cron }) => ({
      ...{ kind: "schedule", title: name, detail: cron ?? "", href: link("schedules") },
    })),
    ...agents.agents.map(({ slug, description }) => ({
      ...{ kind: "agent", title: slug, detail: description, href: link("catalog") },
    })),
  ];
}

export function SearchDialog({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [things, setThings] = useState<readonly Found[]>(pages);
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    dialog.current?.showModal();
    let gone = false;
    everything().then(
      (found) => gone || setThings(found),
      () => {},
    );
    return () => {
      gone = true;
    };
  }, []);
  const found = search(things, typed);
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => setChosen(Math.min(chosen + 1, found.length - 1)),
    ArrowUp: () => setChosen(Math.max(0, chosen - 1)),
    Enter() {
      const one = found[chosen];
      if (one === undefined) return;
      location.hash = one.href;
      close();
    },
  };
  return (
    <dialog ref={dialog} class="search" aria-label="Search" onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="search-results"
        aria-activedescendant={found.length === 0 ? undefined : `result-${chosen}`}
        aria-label="Search for sessions, runs, tasks, schedules and agents"
        placeholder="Search"
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={(event) => {
          const act = keys[event.key];
          if (act === undefined) return;
          event.preventDefault();
          act();
        }}
      />
      <div id="search-results" role="listbox" aria-label="Results">
        {found.map((one, index) => (
          <a
            key={`${one.kind} ${one.href} ${index}`}
            id={`result-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            href={one.href}
            onClick={close}
          >
            <span class="dim">{one.kind}</span> <b class="cut">{visible(one.title)}</b>
            <span class="dim cut">{oneLine(one.detail, 90)}</span>
          </a>
        ))}
      </div>
      {found.length === 0 ? <p class="empty">Nothing fits.</p> : null}
    </dialog>
  );
}
