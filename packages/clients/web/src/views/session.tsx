/** One session: its transcript, what waits, and everything a person can do with it. */

import { asksOf, type Card, columns, withSession } from "@aegis/client/model/board.ts";
import { headline } from "@aegis/contract/headline.ts";
import { isId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useAction } from "../app/busy.ts";
import { client } from "../app/client.ts";
import { isNarrow } from "../app/narrow.ts";
import { type OpenSession, openSession } from "../app/open-session.ts";
import { failedToLoad } from "../app/resource.ts";
import { go, link } from "../app/router.ts";
import { board, clientName } from "../app/store.ts";
import { count, oneLine, visible, when } from "../model/format.ts";
import { AskForm } from "../parts/ask-form.tsx";
import { Composer } from "../parts/composer.tsx";
import { Cost, Diffstat, Meter, Problem, StateDot, shapeOf } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { RowList } from "../parts/row-list.tsx";
import { TranscriptRow } from "../parts/transcript-row.tsx";

export function SessionPage({ rest: [id = ""] }: { rest: readonly string[] }) {
  const card = board.value.cards[id as Card["id"]];
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    if (card !== undefined) return;
    // Closed sessions are not on the board until one is opened.
    client.call("getSession", { path: { session: id }, query: { client: clientName } }).then(
      ({ session }) => {
        board.value = withSession(board.peek(), session);
        if (session.id !== id) go("s", session.id);
      },
      (error: unknown) => setProblem(failedToLoad(error)),
    );
  }, [id]);
  if (card === undefined) return problem === null ? <p class="empty">Loading…</p> : <Problem text={problem} />;
  return <OpenPage key={card.id} card={card} />;
}

function OpenPage({ card }: { card: Card }) {
  const open = useMemo(() => openSession(card.id), []);
  useEffect(() => () => open.close(), []);
  const asks = asksOf(board.value, card.id);
  return (
    <div class="session">
      <Siblings current={card.id} />
      <section class="conversation" aria-label={`Conversation with ${card.handle}`}>
        <Header card={card} asks={asks.length} />
        {isNarrow.value ? <FoldedFacts card={card} /> : null}
        <Problem text={open.problem.value} />
        <Rows open={open} />
        <div class="desk">
          {asks.map((ask) => (
            <AskForm key={ask.id} ask={ask} />
          ))}
          <Waiting open={open} />
          <Composer card={card} />
        </div>
      </section>
      {isNarrow.value ? null : (
        <aside class="facts" aria-label="Session">
          <Facts card={card} />
        </aside>
      )}
    </div>
  );
}

function Rows({ open }: { open: OpenSession }) {
  const { transcript } = open;
  const version = open.version.value;
  const source = useMemo(
    () => ({
      count: transcript.rows.length,
      key: (index: number) => transcript.rows[index]?.key ?? String(index),
      version: (index: number) => transcript.rows[index]?.version ?? 0,
      render(index: number) {
        const row = transcript.rows[index];
        return row === undefined ? null : <TranscriptRow row={row} session={open.session} />;
      },
    }),
    [version],
  );
  if (!open.loaded.value) return <p class="empty grow">Loading…</p>;
  if (source.count === 0) return <p class="empty grow">No turn yet. Write a message to begin.</p>;
  return (
    <RowList
      source={source}
      version={version}
      shifted={open.shifted.value}
      label="Transcript"
      onStart={open.loadOlder}
    />
  );
}

/** Messages that wait for a turn can be taken back until it takes them. */
function Waiting({ open }: { open: OpenSession }) {
  void open.version.value;
  const waiting = open.transcript.waiting();
  if (waiting.length === 0) return null;
  return (
    <ul class="waiting" aria-label="Waiting messages">
      {waiting.map((message) => (
        <WaitingMessage key={message.id} message={message} />
      ))}
    </ul>
  );
}

function WaitingMessage({ message }: { message: Message }) {
  const action = useAction();
  return (
    <li class="chip">
      <span class="dim">waits</span> <span class="cut">{oneLine(message.body, 120)}</span>
      <button
        type="button"
        class="plain"
        disabled={action.busy.value}
        onClick={() => void action.run(() => client.call("cancelMessage", { path: { message: message.id } }))}
      >
        Take back
      </button>
      <Problem text={action.problem.value} />
    </li>
  );
}

function Siblings({ current }: { current: string }) {
  const { needs, working, done } = columns(board.value);
  return (
    <nav class="siblings" aria-label="Sessions">
      <ul>
        {[...needs, ...working, ...done].map((card) => (
          <li key={card.id}>
            <a href={link("s", card.id)} aria-current={card.id === current ? "page" : undefined}>
              <StateDot shape={shapeOf(card, asksOf(board.value, card.id).length)} />
              <span class="cut">{oneLine(headline(card), 60)}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Header({ card, asks }: { card: Card; asks: number }) {
  return (
    <header class="session-head">
      <a class="back" href="#/" aria-label="Back to Home">
        <Icon name="back" />
      </a>
      <StateDot shape={shapeOf(card, asks)} />
      <h1 class="cut">{oneLine(headline(card), 100)}</h1>
      <span class="dim cut title">
        {card.agent} · {card.harness}
        {card.title === "" ? "" : ` · ${visible(card.handle)}`}
      </span>
      <Actions card={card} />
    </header>
  );
}

/** A phone has no room beside the transcript. */
function FoldedFacts({ card }: { card: Card }) {
  return (
    <details class="facts-fold">
      <summary class="dim">
        <span class="cut">{[card.agent, card.model ?? card.harness].join(" · ")}</span>
        <Diffstat changes={card.changes} />
        <Meter context={card.context} />
        <Cost usage={card.usage} />
      </summary>
      <div class="facts">
        <Facts card={card} />
      </div>
    </details>
  );
}

function Facts({ card }: { card: Card }) {
  const parent = card.parent === null ? undefined : board.value.cards[card.parent];
  const tokens = card.usage === null ? 0 : card.usage.input + card.usage.cache_read + card.usage.cache_write;
  return (
    <>
      <dl>
        <Fact name="Agent">{card.agent}</Fact>
        <Fact name="Harness">{card.harness}</Fact>
        <Fact name="Model">{card.model}</Fact>
        <Fact name="State">{card.state}</Fact>
        {card.context === null ? null : (
          <Fact name="Context">
            <Meter context={card.context} />
          </Fact>
        )}
        {card.usage === null ? null : (
          <>
            <Fact name="Cost">
              <Cost usage={card.usage} />
            </Fact>
            <Fact name="Tokens">
              {count(tokens)} in, {count(card.usage.output)} out
            </Fact>
            <Fact name="Turns">{String(card.usage.turns)}</Fact>
          </>
        )}
        {card.changes === null || card.changes.files === 0 ? null : (
          <Fact name="Changes">
            <a class="quiet" href={link("changes", card.id)}>
              <Diffstat changes={card.changes} />
            </a>
          </Fact>
        )}
        <Fact name="Started">{when(card.created_at, Date.now())}</Fact>
        {parent === undefined ? null : (
          <Fact name="Parent">
            <a href={link("s", parent.id)}>{oneLine(headline(parent), 60)}</a>
          </Fact>
        )}
      </dl>
      <p class="id dim mono cut" title={card.id}>
        {card.id}
      </p>
    </>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  if (children === null || children === "") return null;
  return (
    <div>
      <dt class="dim">{name}</dt>
      <dd class="cut">{children}</dd>
    </div>
  );
}

function Actions({ card }: { card: Card }) {
  const action = useAction();
  const [renaming, setRenaming] = useState(false);
  const [closing, setClosing] = useState(false);
  const path = { session: card.id };
  if (card.state === "closed") return null;
  return (
    <div class="actions">
      <div class="buttons">
        <a class="button plain" href={link("changes", card.id)}>
          <Icon name="diff" /> <span class="word">Changes</span>
        </a>
        <button type="button" class="plain" onClick={() => setRenaming(!renaming)} aria-expanded={renaming}>
          <Icon name="edit" /> <span class="word">Rename</span>
        </button>
        <button
          type="button"
          class="plain"
          disabled={action.busy.value}
          onClick={() =>
            void action.run(async () => {
              const { session } = await client.call("forkSession", { path, body: {} });
              if (isId("ses", session.id)) go("s", session.id);
            })
          }
        >
          <Icon name="fork" /> <span class="word">Fork</span>
        </button>
        {closing ? (
          <>
            <button
              type="button"
              class="danger"
              onClick={() => void action.run(() => client.call("closeSession", { path })).then(() => setClosing(false))}
            >
              Close it
            </button>
            <button type="button" class="plain" onClick={() => setClosing(false)}>
              Keep
            </button>
          </>
        ) : (
          <button type="button" class="plain" onClick={() => setClosing(true)}>
            <Icon name="close" /> <span class="word">Close</span>
          </button>
        )}
      </div>
      {renaming ? <Rename card={card} done={() => setRenaming(false)} /> : null}
      <Problem text={action.problem.value} />
    </div>
  );
}

function Rename({ card, done }: { card: Card; done: () => void }) {
  const action = useAction();
  const [handle, setHandle] = useState(card.handle);
  const [title, setTitle] = useState(card.title);
  const save = async () => {
    const body = { ...(handle === card.handle ? {} : { handle }), ...(title === card.title ? {} : { title }) };
    if (await action.run(() => client.call("updateSession", { path: { session: card.id }, body }))) done();
  };
  return (
    <form
      class="rename"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <label>
        Handle <input value={handle} onInput={(event) => setHandle(event.currentTarget.value)} />
      </label>
      <label>
        Title <input value={title} onInput={(event) => setTitle(event.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={action.busy.value}>
        Save
      </button>
      <Problem text={action.problem.value} />
    </form>
  );
}
