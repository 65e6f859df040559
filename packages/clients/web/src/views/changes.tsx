/** What a session, or one of its turns, changed in its working copy: read, commented, approved or sent back. */

import type { ChangedFile, Changes } from "@aegis/contract/changes.ts";
import type { Event } from "@aegis/contract/event.ts";
import { headline } from "@aegis/contract/headline.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { client } from "../app/client.ts";
import { isNarrow } from "../app/narrow.ts";
import { useResource } from "../app/resource.ts";
import { reviewOf } from "../app/review.ts";
import { link, query } from "../app/router.ts";
import { board } from "../app/store.ts";
import { oneLine, plural, visible, when } from "../model/format.ts";
import { approvalOf, drafts } from "../model/review.ts";
import { Diffstat, Empty, Problem } from "../parts/facts.tsx";
import { Icon } from "../parts/icon.tsx";
import { Page } from "../parts/page.tsx";
import { Receipts } from "../parts/receipt.tsx";
import { factsOf, ReviewFile } from "../parts/review-file.tsx";
import { Verdict } from "../parts/verdict.tsx";

export function ChangesPage({ rest: [session] }: { rest: readonly string[] }) {
  return session === undefined ? <Overview /> : <SessionChanges key={session} session={session} />;
}

/** Sessions with changes, the most recently active first. */
function Overview() {
  const cards = Object.values(board.value.cards)
    .filter(({ changes }) => changes !== null && changes.files > 0)
    .toSorted((a, b) => b.active_at - a.active_at);
  return (
    <Page title="Changes">
      {cards.length === 0 ? (
        <Empty>No open session has changed a file. Changes are recorded in git projects.</Empty>
      ) : null}
      <ul class="changed-sessions">
        {cards.map((card) => (
          <li key={card.id}>
            <a href={link("changes", card.id)}>
              <b class="cut">{oneLine(headline(card))}</b>
              <span class="dim cut">{card.title === "" ? "" : visible(card.handle)}</span>
              <Diffstat changes={card.changes} />
            </a>
          </li>
        ))}
      </ul>
    </Page>
  );
}

const viewName = "aegis.diff";
const split = signal(localStorage.getItem(viewName) === "split");

function setSplit(value: boolean): void {
  split.value = value;
  localStorage.setItem(viewName, value ? "split" : "unified");
}

const mostTurns = 200;
const mostReceipts = 20;
/** The newest messages of the session, among which the last approval is looked for. */
const mostMessages = 1_000;

function SessionChanges({ session }: { session: string }) {
  const turn = query.value.get("turn") ?? undefined;
  const load = async () => {
    const path = { session };
    const [{ changes }, { turns }, { messages }, { receipts }] = await Promise.all([
      client.call("getChanges", { path, query: turn === undefined ? {} : { turn } }),
      client.call("listTurns", { path, query: { limit: mostTurns } }),
      client.call("listMessages", { path, query: { from: "newest", limit: mostMessages } }),
      client.call("listReceipts", { query: { of: session, limit: mostReceipts } }),
    ]);
    return { turn, receipts, changes, turns: turns.toReversed(), approval: approvalOf(messages) };
  };
  // Each answer about a running turn reads the whole working tree.
  const { data, problem } = useResource(load, (event) => isConcerned(event, session), [session, turn], 1_000);
  if (data === null) return problem === null ? <Empty>Loading…</Empty> : <Problem text={problem} />;
  const { changes, turns, approval } = data;
  const wanted = query.value.get("file");
  const file = changes.files.find(({ path }) => path === wanted) ?? changes.files[0];
  const go = (change: Record<string, string | null>) => {
    location.hash = placeOf(changes.session, change);
  };
  return (
    <div class={`review ${wanted === null ? "" : "at-file"}`}>
      <header class="review-head">
        <a class="back-link" href={link("s", changes.session)} aria-label={`Back to ${changes.handle}`}>
          <Icon name="back" />
        </a>
        <h1 class="cut">Changes of {visible(changes.handle)}</h1>
        <Diffstat changes={{ ...changes, files: changes.files.length + changes.omitted }} />
        <span class="review-tools">
          <select
            aria-label="Turns"
            value={turn ?? ""}
            onChange={(event) => go({ turn: event.currentTarget.value || null, file: null })}
          >
            <option value="">All turns</option>
            {turns.map(({ id, started_at }, index) => (
              <option key={id} value={id}>
                {turns.length < mostTurns ? `Turn ${index + 1}, ` : ""}
                {when(started_at, Date.now())}
              </option>
            ))}
          </select>
          <ViewChoice />
        </span>
      </header>
      <Problem text={problem} />
      <Notes changes={changes} />
      {file === undefined ? (
        <Empty>
          {changes.git
            ? "No file has changed."
            : "The folder is not in a git repository, so Aegis records no changes. The transcript shows the edits that the agent reported."}
        </Empty>
      ) : (
        <Files changes={changes} file={file} turn={data.turn} go={go} />
      )}
      <Receipts receipts={data.receipts} />
      <Verdict changes={changes} approval={approval} />
    </div>
  );
}

function isConcerned(event: Event, session: string): boolean {
  if (event.session !== session) return false;
  return [
    "changes.recorded",
    "turn.started",
    "turn.ended",
    "turn.tool_result",
    "message.admitted",
    "receipt.recorded",
  ].includes(event.type);
}

function placeOf(session: SessionId, change: Record<string, string | null>): string {
  const words = new URLSearchParams(query.peek());
  for (const [name, value] of Object.entries(change)) {
    if (value === null) words.delete(name);
    else words.set(name, value);
  }
  const text = words.toString();
  return `${link("changes", session)}${text === "" ? "" : `?${text}`}`;
}

function ViewChoice() {
  const option = (label: string, value: boolean) => (
    <button type="button" aria-pressed={split.value === value} onClick={() => setSplit(value)}>
      {label}
    </button>
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend that repeats the buttons
    <span class="choice" role="group" aria-label="View">
      {option("Unified", false)}
      {option("Side by side", true)}
    </span>
  );
}

function Notes({ changes }: { changes: Changes }) {
  const notes = [
    ...changes.problems,
    changes.omitted === 0 ? "" : `${plural(changes.omitted, "more file")} changed and are not listed.`,
    changes.skipped.length === 0
      ? ""
      : `Too large to be recorded: ${changes.skipped.map(({ path }) => path).join(", ")}.`,
    changes.dirty_submodules.length === 0
      ? ""
      : `Submodules with uncommitted changes: ${changes.dirty_submodules.join(", ")}.`,
    changes.filters_off.length === 0 ? "" : `Filters of git that Aegis did not run: ${changes.filters_off.join(", ")}.`,
  ].filter((note) => note !== "");
  if (notes.length === 0) return null;
  return (
    <ul class="review-notes warn">
      {notes.map((note) => (
        <li key={note}>{visible(note)}</li>
      ))}
    </ul>
  );
}

type FilesProps = {
  changes: Changes;
  file: ChangedFile;
  turn: string | undefined;
  go: (change: Record<string, string | null>) => void;
};

function Files({ changes, file, turn, go }: FilesProps) {
  const { files } = changes;
  const counts = new Map<string, number>();
  for (const { path } of drafts(reviewOf(changes.session).value)) counts.set(path, (counts.get(path) ?? 0) + 1);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const step = { n: 1, p: -1 }[event.key];
      const isTyping = (event.target as Element).matches("input, textarea, select");
      if (step === undefined || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      const next = files[files.indexOf(file) + step];
      if (next !== undefined) go({ file: next.path });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
  return (
    <div class="review-body">
      <nav class="files" aria-label="Changed files">
        <ul>
          {files.map((one) => (
            <li key={one.path}>
              <a
                href={placeOf(changes.session, { file: one.path })}
                aria-current={one === file ? "true" : undefined}
                title={visible(one.path)}
              >
                <FileName file={one} />
                {counts.has(one.path) ? (
                  <span class="badge">
                    {counts.get(one.path)}
                    <span class="unseen"> draft comments</span>
                  </span>
                ) : null}
                <FileCounts file={one} />
              </a>
            </li>
          ))}
        </ul>
        <p class="keys dim">
          <kbd>n</kbd> <kbd>p</kbd> file · <kbd>j</kbd> <kbd>k</kbd> line · <kbd>c</kbd> comment
        </p>
      </nav>
      <section class="review-main" aria-label={file.path}>
        <header class="file-head">
          <a class="to-files" href={placeOf(changes.session, { file: null })} aria-label="All files">
            <Icon name="back" />
          </a>
          <h2 class="mono">{visible(file.path)}</h2>
          <FileCounts file={file} />
          <span class="dim note">{factsOf(file).join(" · ")}</span>
        </header>
        <ReviewFile
          key={`${turn} ${file.path}`}
          changes={changes}
          file={file}
          turn={turn}
          split={split.value && !isNarrow.value}
        />
      </section>
    </div>
  );
}

const letters: Readonly<Record<ChangedFile["status"], readonly [letter: string, colour: string]>> = {
  added: ["A", "ok"],
  modified: ["M", "dim"],
  deleted: ["D", "err"],
  renamed: ["R", "active"],
  type_changed: ["T", "warn"],
};

function FileName({ file: { path, status } }: { file: ChangedFile }) {
  const at = path.lastIndexOf("/") + 1;
  const [letter, colour] = letters[status];
  return (
    <>
      <span class={`mono ${colour}`} role="img" aria-label={status.replace("_", " ")}>
        {letter}
      </span>
      <span class="file-name">
        <span class="cut">{visible(path.slice(at))}</span>
        {at === 0 ? null : <span class="dim cut">{visible(path.slice(0, at - 1))}</span>}
      </span>
    </>
  );
}

function FileCounts({ file }: { file: ChangedFile }) {
  if (file.binary) return <span class="dim counts">binary</span>;
  return (
    <span class="counts">
      {file.added > 0 ? <span class="ok">+{file.added}</span> : null}
      {file.deleted > 0 ? <span class="err">−{file.deleted}</span> : null}
    </span>
  );
}
