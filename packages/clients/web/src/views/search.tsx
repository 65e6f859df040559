/** Search over everything that has a name. Opened with Ctrl+K. */
import { useEffect, useRef, useState } from "preact/hooks";
import { client } from "../app/client.ts";
import { link } from "../app/router.ts";
import { oneLine, visible } from "../model/format.ts";
import { type SearchHit, search } from "../model/search.ts";
import { places } from "./places.ts";

const pages: readonly SearchHit[] = places
  .filter((place) => place.inNavigation)
  .map(({ title, word }) => ({ kind: "page", title, detail: "", href: word === "" ? "#/" : link(word) }));

/** One list of the daemon, as things to find; what cannot be listed is left out. */
async function found<T>(listed: Promise<readonly T[]>, entry: (one: T) => SearchHit): Promise<SearchHit[]> {
  return (await listed.catch(() => [])).map(entry);
}

function facts(...words: readonly (string | null)[]): string {
  return words.filter((word) => word !== null && word !== "").join(" · ");
}

async function everything(): Promise<SearchHit[]> {
  const lists = await Promise.all([
    found(
      client.call("listSessions", { query: { closed: true } }).then((it) => it.sessions),
      ({ id, handle, title, agent, state }) => ({
        kind: "session",
        title: handle,
        detail: facts(title, agent, state),
        href: link("s", id),
      }),
    ),
    found(
      client.call("listRuns").then((it) => it.runs),
      ({ id, workflow, status }) => ({
        kind: "run",
        title: workflow,
        detail: facts(status, id),
        href: link("workflows", id),
      }),
    ),
    found(
      client.call("listWorkflows").then((it) => it.workflows),
      ({ name, description }) => ({ kind: "workflow", title: name, detail: description, href: link("workflows") }),
    ),
    found(
      client.call("listTasks").then((it) => it.tasks),
      ({ payload, queue, status }) => ({
        kind: "task",
        title: oneLine(payload, 80),
        detail: facts(queue, status),
        href: link("queues"),
      }),
    ),
    found(
      client.call("listQueues").then((it) => it.queues),
      ({ name, settings }) => ({
        kind: "queue",
        title: name,
        detail: settings?.agent ?? "",
        href: link("queues"),
      }),
    ),
    found(
      client.call("listSchedules").then((it) => it.schedules),
      ({ name, cron }) => ({ kind: "schedule", title: name, detail: cron ?? "", href: link("schedules") }),
    ),
    found(
      client.call("listGroups").then((it) => it.groups),
      ({ name, members }) => ({
        kind: "group",
        title: name,
        detail: members.map(({ handle }) => handle).join(", "),
        href: link("groups"),
      }),
    ),
    found(
      client.call("listAgents").then((it) => it.agents),
      ({ slug, description }) => ({
        kind: "agent",
        title: slug,
        detail: description,
        href: link("catalog", "agents", slug),
      }),
    ),
    found(
      client.call("listSkills").then((it) => it.skills),
      ({ name, description }) => ({
        kind: "skill",
        title: name,
        detail: description,
        href: link("catalog", "skills", name),
      }),
    ),
    found(
      client.call("listPlugins").then((it) => it.plugins),
      ({ name, status }) => ({
        kind: "plugin",
        title: name,
        detail: status,
        href: link("catalog", "plugins", name),
      }),
    ),
    found(
      client.call("listCommands").then((it) => it.commands),
      ({ name, description }) => ({
        kind: "command",
        title: `/${name}`,
        detail: description,
        href: link("catalog", "commands"),
      }),
    ),
  ]);
  return [...pages, ...lists.flat()];
}

export function SearchDialog({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [things, setThings] = useState<readonly SearchHit[]>(pages);
  const [typed, setTyped] = useState("");
  const [chosen, setChosen] = useState(0);
  useEffect(() => {
    dialog.current?.showModal();
    let gone = false;
    void everything().then((all) => gone || setThings(all));
    return () => {
      gone = true;
    };
  }, []);
  const results = search(things, typed);
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => setChosen(Math.min(chosen + 1, results.length - 1)),
    ArrowUp: () => setChosen(Math.max(0, chosen - 1)),
    Enter() {
      const one = results[chosen];
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
        aria-activedescendant={results.length === 0 ? undefined : `result-${chosen}`}
        aria-label="Search for sessions, runs, tasks, agents and everything else that has a name"
        placeholder="Search for a session, an agent, a run, a task …"
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
        {results.map((one, index) => (
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
      {results.length === 0 ? <p class="empty">Nothing matches.</p> : null}
    </dialog>
  );
}
