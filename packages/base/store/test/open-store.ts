/** A store in a folder of its test, and a log that remembers. */

import type { Logger } from "@aegis/lib/log.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { onTestFinished } from "vitest";
import type { Store } from "../src/store.ts";

/** 2026-02-03T04:05:06Z */
export const openedAt = Date.UTC(2026, 1, 3, 4, 5, 6);

export type Said = { level: string; message: string };

export async function openStore(path: string): Promise<{ store: Store; said: Said[] }> {
  const said: Said[] = [];
  const note = (level: string) => (message: string) => void said.push({ level, message });
  const log: Logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
  const store = await openSqliteStore({ path, clock: fakeClock(openedAt), log });
  onTestFinished(() => store.close());
  return { store, said };
}
