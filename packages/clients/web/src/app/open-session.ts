/** The transcript of the session that is open: its newest page first, older pages when the reader goes there. */

import type { FollowedItem } from "@aegis/client/events.ts";
import { Transcript } from "@aegis/client/model/transcript.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { type Signal, signal } from "@preact/signals";
import { problemText } from "./busy.ts";
import { client } from "./client.ts";
import { failedToLoad } from "./resource.ts";
import { clientName, onStream } from "./store.ts";

/** Little enough that adding a page while the reader scrolls takes less than a frame or two. */
const page = 150;
const mostRows = 2_000;
const mostWaiting = 1_000;

export type OpenSession = {
  session: SessionId;
  transcript: Transcript;
  /** Counts changes of the transcript. */
  version: Signal<number>;
  /** Rows added before the first one, minus those removed there. */
  shifted: Signal<number>;
  more: Signal<boolean>;
  problem: Signal<string | null>;
  loaded: Signal<boolean>;
  loadOlder(): void;
  close(): void;
};

export function openSession(session: SessionId): OpenSession {
  const transcript = new Transcript();
  const version = signal(0);
  const shifted = signal(0);
  const more = signal(false);
  const problem = signal<string | null>(null);
  const loaded = signal(false);
  let loading = false;
  /** What happened while the first page was on its way. */
  const early: FollowedItem[] = [];

  const stop = onStream((items) => {
    let changed = false;
    for (const item of items) {
      if (item.kind === "delta" ? item.delta.session !== session : item.event.session !== session) continue;
      changed = true;
      if (loaded.peek()) transcript.take(item);
      else early.push(item);
    }
    if (!changed || !loaded.peek()) return;
    const dropped = transcript.trim(mostRows + page);
    if (dropped > 0) {
      shifted.value -= dropped;
      more.value = true;
    }
    version.value += 1;
    seen();
  });

  /** Tells the daemon what was read, at most once a second and only if the page is visible. */
  let telling: ReturnType<typeof setTimeout> | undefined;
  function seen(): void {
    telling ??= setTimeout(() => {
      telling = undefined;
      if (document.hidden || transcript.last === 0) return;
      const body = { client: clientName, seq: transcript.last };
      void client.call("markSeen", { path: { session }, body }).catch(() => {});
    }, 1_000);
  }

  async function load(): Promise<void> {
    const [{ messages: waiting }, { events, more: older, messages }] = await Promise.all([
      client.call("listMessages", { path: { session }, query: { status: "pending", limit: mostWaiting } }),
      client.call("history", { path: { session }, query: { limit: page } }),
    ]);
    transcript.addMessages([...waiting, ...messages]);
    for (const event of events) transcript.add(event);
    for (const item of early) transcript.take(item);
    more.value = older;
    loaded.value = true;
    version.value += 1;
    seen();
  }

  async function loadOlder(): Promise<void> {
    const before = transcript.first;
    const answer = await client.call("history", { path: { session }, query: { before, limit: page } });
    transcript.addMessages(answer.messages);
    shifted.value += transcript.addOlder(answer.events);
    more.value = answer.more;
    version.value += 1;
  }

  load().catch((error: unknown) => {
    problem.value = failedToLoad(error);
  });
  return {
    session,
    transcript,
    version,
    shifted,
    more,
    problem,
    loaded,
    loadOlder() {
      if (loading || !more.peek()) return;
      loading = true;
      void loadOlder()
        .catch((error: unknown) => {
          problem.value = problemText(error);
        })
        .finally(() => {
          loading = false;
        });
    },
    close() {
      stop();
      clearTimeout(telling);
    },
  };
}
