/** Links to all views. On a phone the rarer ones are behind *More*. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isNarrow } from "../app/narrow.ts";
import { link } from "../app/router.ts";
import { board } from "../app/store.ts";
import { Icon } from "../parts/icon.tsx";
import { type Place, places } from "./places.ts";

const listed = places.filter((place) => place.inNavigation);
const common = listed.filter((place) => !place.rare);
const rare = listed.filter((place) => place.rare);

export function Navigation({ word }: { word: string }) {
  return (
    <nav class="rail" aria-label="Views">
      {(isNarrow.value ? common : listed).map((place) => (
        <PlaceLink key={place.word} place={place} word={word} />
      ))}
      {isNarrow.value ? <More word={word} /> : null}
    </nav>
  );
}

function PlaceLink({ place, word, onClick }: { place: Place; word: string; onClick?: () => void }) {
  const asks = place.word === "" ? board.value.asks.length : 0;
  return (
    <a
      href={place.word === "" ? "#/" : link(place.word)}
      aria-current={place.word === word ? "page" : undefined}
      title={place.title}
      onClick={onClick}
    >
      <Icon name={place.icon} />
      <span>{place.title}</span>
      {asks > 0 ? (
        <b class="badge">
          {asks}
          <span class="unseen"> open asks</span>
        </b>
      ) : null}
    </a>
  );
}

const listId = "more-views";

/** Opens over the view. Escape closes it, and so does everything outside it. */
function More({ word }: { word: string }) {
  const [isOpen, setOpen] = useState(false);
  const whole = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => setOpen(false), [word]);
  // Before the next event: a pointer may leave the list as soon as it is shown.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const listening = new AbortController();
    const { signal } = listening;
    const leave = ({ target }: Event) => {
      if (!(target instanceof Node && whole.current?.contains(target))) setOpen(false);
    };
    addEventListener("pointerdown", leave, { signal });
    addEventListener("focusin", leave, { signal });
    const onKey = ({ key }: KeyboardEvent) => {
      if (key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    addEventListener("keydown", onKey, { signal });
    return () => listening.abort();
  }, [isOpen]);
  return (
    <div class="more" ref={whole}>
      <button
        type="button"
        ref={button}
        aria-expanded={isOpen}
        aria-controls={isOpen ? listId : undefined}
        aria-current={rare.some((place) => place.word === word) ? "true" : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="more" />
        <span>More</span>
      </button>
      {isOpen ? (
        <div class="more-views" id={listId}>
          {rare.map((place) => (
            <PlaceLink key={place.word} place={place} word={word} onClick={() => setOpen(false)} />
          ))}
        </div>
      ) : null}
    </div>
  );
}
