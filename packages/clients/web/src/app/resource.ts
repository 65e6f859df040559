/**
 * Data of one view: loaded when the view opens, when an event says that it has changed, and when the daemon is back: it
 * may have read changed files, and a view that was opened while it was away has no data yet.
 */

import type { Event } from "@aegis/contract/event.ts";
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { problemText } from "./busy.ts";
import { onStream } from "./store.ts";
import { onReconnect } from "./stream.ts";

/** Counts how often views had to be opened again because they could not load without the daemon. */
export const reopened = signal(0);
let isMissing = false;

/** The text of a problem that left a view without its data. The view is opened again when the daemon is back. */
export function failedToLoad(error: unknown): string {
  isMissing = true;
  return problemText(error);
}

/** Returns a function that ends it. */
export function reopenWhenBack(): () => void {
  return onReconnect(() => {
    if (!isMissing) return;
    isMissing = false;
    reopened.value += 1;
  });
}

export type Resource<T> = { data: T | null; problem: string | null; reload(): void };

export function useResource<T>(
  load: () => Promise<T>,
  concerns: (event: Event) => boolean,
  inputs: readonly unknown[] = [],
  /** Many events in a row lead to one request. */
  pauseMs = 200,
): Resource<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [count, setCount] = useState(0);
  useEffect(() => {
    let gone = false;
    load().then(
      (found) => {
        if (gone) return;
        setData(found);
        setProblem(null);
      },
      (error: unknown) => gone || setProblem(problemText(error)),
    );
    return () => {
      gone = true;
    };
  }, [count, ...inputs]);
  useEffect(() => onReconnect(() => setCount((before) => before + 1)), []);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onStream((items) => {
      if (!items.some((item) => item.kind === "event" && concerns(item.event))) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        setCount((before) => before + 1);
      }, pauseMs);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, inputs);
  return { data, problem, reload: () => setCount((before) => before + 1) };
}

export function typeBegins(...prefixes: readonly string[]): (event: Event) => boolean {
  return (event) => prefixes.some((prefix) => event.type.startsWith(prefix));
}
