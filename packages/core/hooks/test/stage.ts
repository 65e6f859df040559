/** A runtime whose agent says the prompt back, with a plugin of the test's hooks. */

import type { Store } from "@aegis/store/store.ts";
import { type TestHook, testPlugin } from "@aegis/test/helpers/hooks.ts";
import {
  completed,
  eventsOfType,
  said,
  type TestReply,
  type TestRuntime,
  type TestTurn,
  testDriver,
  testRuntime,
  turnsEnded,
} from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";

export const human = { kind: "human" } as const;
export const never = new AbortController().signal;

/** Says the prompt back. */
export async function* echo({ prompt }: TestTurn) {
  yield said(`heard: ${prompt.text}`);
  yield completed;
}

export async function start(hooks: readonly TestHook[], reply: TestReply = echo, wrap?: (store: Store) => Store) {
  const dir = await tempDir();
  const driver = testDriver(reply);
  const runtime = await testRuntime(dir, driver, wrap === undefined ? {} : { wrap });
  const undo = runtime.hooks.table.add(testPlugin("spy", hooks));
  return { dir, driver, runtime, undo };
}

export async function answer(runtime: TestRuntime, prompt: string) {
  const before = (await eventsOfType(runtime.store, "turn.ended")).length;
  const { session } = await runtime.sessions.create({ prompt });
  await turnsEnded(runtime, before + 1);
  return session;
}

export async function addQueue(runtime: TestRuntime, name: string): Promise<void> {
  const limits = { max_parallel: 1, retries: 3, timeout: null, budgets: [] };
  await runtime.queues.add(name, { agent: "offline", on_crash: "retry", ...limits });
}
