/** The frame of every view: navigation, the state of the connection, and the view of the current place. */
import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { canNotify, notifies, toggleNotifications } from "../app/notify.ts";
import { failedToLoad, reopened, reopenWhenBack } from "../app/resource.ts";
import { path } from "../app/router.ts";
import { board, now, status } from "../app/store.ts";
import { connection } from "../app/stream.ts";
import { age, clock } from "../model/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Home } from "./home.tsx";
import { Navigation } from "./navigation.tsx";
import { type Place, places } from "./places.ts";

export function Shell() {
  const [word = "", ...rest] = path.value;
  const place = places.find((one) => one.word === word);
  useEffect(() => {
    const asks = board.value.asks.length;
    document.title = `${asks > 0 ? `(${asks}) ` : ""}${place?.title ?? "Session"} · Aegis`;
  });
  useEffect(reopenWhenBack, []);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={skip}>
        Skip to the content
      </button>
      <Navigation word={word} />
      <main id="main" tabIndex={-1} class={`view ${word === "" ? "at-home" : `at-${word}`}`}>
        <View key={`${word} ${reopened.value}`} word={word} rest={rest} />
      </main>
      <ConnectionBar />
      <Search />
    </div>
  );
}

const searching = signal(false);

addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
  event.preventDefault();
  searching.value = true;
});

function Search() {
  const [dialog, setDialog] = useState<{ it: ComponentType<{ close: () => void }> } | null>(null);
  const isOpen = searching.value;
  useEffect(() => {
    if (isOpen && dialog === null) void import("./search.tsx").then((it) => setDialog({ it: it.SearchDialog }));
  }, [isOpen]);
  if (!isOpen || dialog === null) return null;
  return (
    <dialog.it
      close={() => {
        searching.value = false;
      }}
    />
  );
}

/** A button and no link: the fragment of the address is the place in the app. */
function skip(): void {
  document.getElementById("main")?.focus();
}

function View({ word, rest }: { word: string; rest: readonly string[] }) {
  const place = places.find((one) => one.word === word);
  if (word === "") return <Home />;
  if (place?.load === undefined) return <p class="empty">There is no such page. The navigation shows all pages.</p>;
  return <Loaded place={place} load={place.load} rest={rest} />;
}

/** Code of the other views is loaded when one is opened. */
function Loaded({ place, load, rest }: { place: Place; load: NonNullable<Place["load"]>; rest: readonly string[] }) {
  const [view, setView] = useState<{ it: ComponentType<{ rest: readonly string[] }> } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    load().then(
      (it) => setView({ it }),
      (error) => setProblem(`${place.title} could not be loaded: ${failedToLoad(error)}`),
    );
  }, [load]);
  if (problem !== null) return <p class="problem">{problem}</p>;
  return view === null ? <p class="empty">Loading…</p> : <view.it rest={rest} />;
}

function ConnectionBar() {
  const state = connection.value;
  const { cards, asks } = board.value;
  const asking = new Set(asks.map((ask) => ask.session));
  const working = Object.values(cards).filter((card) => card.state === "working" && !asking.has(card.id)).length;
  if (state.state === "refused")
    return (
      <div class="bar cut-off" role="alert">
        ✕ {state.message}
        {state.hint === undefined ? "" : `: ${state.hint}`}
      </div>
    );
  if (state.state === "cut")
    return (
      <div class="bar cut-off" role="alert">
        ✕ Cut off from the daemon since {clock(state.since, true)} ({age(now() - state.since)}). Trying again.
      </div>
    );
  return (
    <div class="bar" role="status">
      <span class={state.state === "live" ? "ok" : "dim"}>{state.state === "live" ? "● live" : "○ connecting"}</span>
      <span class="dim">{working} working</span>
      <span class="tools">
        <button
          type="button"
          class="plain"
          onClick={() => {
            searching.value = true;
          }}
        >
          <Icon name="search" /> Search <kbd>Ctrl K</kbd>
        </button>
        {canNotify ? (
          <button type="button" class="plain" aria-pressed={notifies.value} onClick={() => void toggleNotifications()}>
            <Icon name="bell" /> {notifies.value ? "Notifications on" : "Notify me"}
          </button>
        ) : null}
      </span>
      <span class="dim cut project" title={status.value?.project}>
        {status.value?.project.split(/[\\/]/).at(-1)}
      </span>
    </div>
  );
}
