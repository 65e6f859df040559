/** Home: what needs a person, what works, what is done. */

import { asksOf, type Card, type Column, columns } from "@aegis/client/model/board.ts";
import { headline } from "@aegis/contract/headline.ts";
import { mostUnseen } from "@aegis/contract/unseen.ts";
import { signal } from "@preact/signals";
import { client } from "../app/client.ts";
import { typeBegins, useResource } from "../app/resource.ts";
import { link } from "../app/router.ts";
import { board, status } from "../app/store.ts";
import { oneLine, visible } from "../model/format.ts";
import { AskForm } from "../parts/ask-form.tsx";
import { Age, Cost, Diffstat, Empty, Meter, StateDot, shapeOf } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { NeedCard } from "../parts/need-card.tsx";
import { NewSession } from "../parts/new-session.tsx";

const titles: Readonly<Record<Column, string>> = { needs: "Needs you", working: "Working", done: "Done" };
const empty: Readonly<Record<Column, string>> = {
  needs: "Nothing waits for you.",
  working: "No session is working.",
  done: "No session has ended a turn yet.",
};
const order: readonly Column[] = ["needs", "working", "done"];

/** The daemon lists what waits besides the asks, which events tell at once. */
const loadNeeds = async () => (await client.call("status")).needs.filter(({ kind }) => kind !== "ask");
const changesNeeds = typeBegins("turn.ended", "task.", "land.", "changes.", "session.closed", "worktree.");

/** On a phone one column is shown at a time. */
const shown = signal<Column>("needs");

export function Home() {
  const cards = columns(board.value);
  const found = useResource(loadNeeds, changesNeeds).data ?? [];
  // A failed session has a card of its own.
  const needs = found.filter(({ session, kind }) => kind === "ready" || !cards.needs.some(({ id }) => id === session));
  const count = (column: Column) => cards[column].length + (column === "needs" ? needs.length : 0);
  return (
    <div class="home">
      <NewSession name={status.value?.default_agent ?? ""} />
      <div class="tabs" role="tablist" aria-label="Columns">
        {order.map((column) => (
          <button
            key={column}
            type="button"
            role="tab"
            id={`tab-${column}`}
            aria-selected={shown.value === column}
            aria-controls={`column-${column}`}
            onClick={() => {
              shown.value = column;
            }}
          >
            {titles[column]} <span class="number">{count(column)}</span>
          </button>
        ))}
      </div>
      <div class="columns">
        {order.map((column) => (
          <section
            key={column}
            id={`column-${column}`}
            class={`column ${shown.value === column ? "shown" : ""}`}
            aria-label={titles[column]}
          >
            <h2>
              {titles[column]} <span class="number">{count(column)}</span>
            </h2>
            {count(column) === 0 ? <Empty>{empty[column]}</Empty> : null}
            <ul>
              {cards[column].map((card) => (
                <li key={card.id}>
                  <SessionCard card={card} />
                </li>
              ))}
              {column === "needs"
                ? needs.map((need) => (
                    <li key={`${need.kind}:${need.session ?? need.task}`}>
                      <NeedCard need={need} />
                    </li>
                  ))
                : null}
            </ul>
          </section>
        ))}
      </div>
    </div>
  );
}

function SessionCard({ card }: { card: Card }) {
  const asks = asksOf(board.value, card.id);
  const [first] = asks;
  return (
    <article class={`card ${asks.length > 0 ? "asks" : ""}`}>
      <header>
        <StateDot shape={shapeOf(card, asks.length)} />
        <a class="handle cut" href={link("s", card.id)}>
          {oneLine(headline(card))}
        </a>
        {card.unseen > 0 ? (
          <span class="badge">{card.unseen < mostUnseen ? card.unseen : `${mostUnseen}+`} new</span>
        ) : null}
        <Age at={first?.created_at ?? card.active_at} />
      </header>
      <p class="who dim cut">
        {[card.agent, card.harness, card.model].filter((word) => word !== null && word !== "").join(" · ")}
        {card.offline ? " · offline" : ""}
        {card.title === "" ? null : <small class="handle-id"> · {visible(card.handle)}</small>}
      </p>
      {asks.map((ask) => (
        <AskForm key={ask.id} ask={ask} />
      ))}
      <CardNow card={card} waits={asks.length > 0} />
      <footer class="dim">
        {card.pending > 0 ? <span>{card.pending} waiting</span> : null}
        {card.changes === null || card.changes.files === 0 ? null : (
          <a class="quiet" href={link("changes", card.id)}>
            <Diffstat changes={card.changes} />
          </a>
        )}
        <Meter context={card.context} />
        <Cost usage={card.usage} />
      </footer>
    </article>
  );
}

function CardNow({ card, waits }: { card: Card; waits: boolean }) {
  if (card.agent_problem !== null) return <p class="err">{oneLine(card.agent_problem)}</p>;
  if (card.error !== null) return <p class="err">{oneLine(card.error)}</p>;
  if (waits) return null;
  if (card.state === "working")
    return (
      <p class="now cut">
        <Icon name="chevron" /> {oneLine(card.doing?.words ?? "working")}
      </p>
    );
  if (card.last === null) return <p class="dim">No turn yet.</p>;
  const { reason, text } = card.last;
  return (
    <p class="last">
      {reason === "completed" ? null : <span class="err">{reason} </span>}
      {oneLine(text, 160)}
    </p>
  );
}
