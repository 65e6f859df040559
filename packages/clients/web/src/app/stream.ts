/**
 * The event stream of the page. It never gives up: while the daemon is away the page says since when, and tries again
 * at once when the browser is online or the page is looked at.
 */

import { type FollowedItem, followEvents } from "@aegis/client/events.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import { effect, signal } from "@preact/signals";
import { Batches } from "../model/batches.ts";
import { client } from "./client.ts";

export type StreamState =
  | { state: "connecting" }
  | { state: "live" }
  | { state: "cut"; since: number; attempt: number }
  | { state: "refused"; message: string; hint: string | undefined };

export const connection = signal<StreamState>({ state: "connecting" });

/** Calls `run` each time that the daemon answers again. Returns a function that ends it. */
export function onReconnect(run: () => void): () => void {
  let before = connection.peek().state;
  return effect(() => {
    const { state } = connection.value;
    // Later, so that the effect does not depend on what `run` reads.
    if (before === "cut" && state === "live") queueMicrotask(run);
    before = state;
  });
}

const longestMs = 5_000;
const hiddenMs = 60_000;

/** Calls `take` with everything after `after`, in batches of one animation frame. Runs until the page is closed. */
export async function follow(
  after: number,
  take: (items: readonly FollowedItem[]) => void,
  keepHidden: () => boolean,
): Promise<void> {
  let position = after;
  const batches = new Batches(take, nextFrame);
  addEventListener("keydown", () => batches.typed(), { capture: true, passive: true });
  const hurry = hurryUp();
  for (let attempt = 1; ; attempt++) {
    const pause = pauseWhenHidden(keepHidden);
    await pause.shown;
    try {
      const onConnect = () => {
        attempt = 0;
        connection.value = { state: "live" };
      };
      const { signal } = pause;
      const options = { after: position, live: true, signal, onConnect, onReconnect: cut, sleep: hurry.sleep };
      for await (const item of followEvents(client, options)) {
        if (item.kind === "event") position = item.event.seq;
        batches.add(item);
      }
    } catch (error) {
      if (isAegisError(error) && (error.status === 401 || error.status === 403)) {
        connection.value = { state: "refused", message: error.message, hint: error.hint };
        return;
      }
      // The daemon's event log was recreated.
      if (isAegisError(error) && error.code === "conflict") return location.reload();
      cut(attempt);
    } finally {
      pause.end();
    }
    if (pause.signal.aborted) continue;
    await hurry.sleep(Math.min(longestMs, 100 * 2 ** attempt));
  }
}

/**
 * A browser opens six connections to a host, and each page holds one: a seventh page could not load. So a page that has
 * been hidden for a minute closes its stream, unless it has to notify, and resumes when it becomes visible.
 */
function pauseWhenHidden(keepHidden: () => boolean): { signal: AbortSignal; shown: Promise<void>; end(): void } {
  const pause = new AbortController();
  const { promise: shown, resolve } = Promise.withResolvers<void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden && !keepHidden()) timer = setTimeout(() => pause.abort(), hiddenMs);
    else resolve();
  };
  document.addEventListener("visibilitychange", look);
  look();
  // A page that was opened in the background loads first and pauses later.
  if (connection.peek().state === "connecting") resolve();
  return {
    signal: pause.signal,
    shown,
    end() {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    },
  };
}

function cut(attempt: number): void {
  const before = connection.peek();
  const since = before.state === "cut" ? before.since : Date.now();
  connection.value = { state: "cut", since, attempt };
}

/** A hidden page gets no animation frames, but must still notify. */
function nextFrame(run: () => void): void {
  if (document.hidden) setTimeout(run, 50);
  else requestAnimationFrame(run);
}

function hurryUp(): { sleep(ms: number): Promise<void> } {
  let wake = () => {};
  addEventListener("online", () => wake());
  document.addEventListener("visibilitychange", () => document.hidden || wake());
  return {
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
  };
}
