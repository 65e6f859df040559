/** A view reads several tables, and on a cluster a turn may begin between any two of these reads. */

import type { SessionId } from "@aegis/contract/ids.ts";
import { gated, type TestRuntime, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { withReadHook } from "@aegis/test/helpers/shaky-store.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

type Look = (runtime: TestRuntime, session: SessionId) => Promise<{ state: string; pending: number } | undefined>;

const looks: Record<string, Look> = {
  "the view of a session": ({ sessions }, session) => sessions.view(session, "default"),
  "the list of sessions": async ({ sessions }) => (await sessions.list({ closed: false, client: "default" }))[0],
};

describe.each(Object.entries(looks))("%s", (_name, look) => {
  it.each([0, 1, 2, 3, 4, 5])("shows the work of a turn that begins before read %i", async (position) => {
    let beforeRead = async () => {};
    const wrap = (store: TestRuntime["store"]) => withReadHook(store, () => beforeRead());
    const runtime = await testRuntime(await tempDir(), testDriver(gated().reply), { wrap });
    const { session } = await runtime.sessions.create({});
    runtime.sessions.rest();
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "work" });
    let reads = 0;
    beforeRead = async () => {
      if (reads++ !== position) return;
      await runtime.sessions.wakeAll();
      await waitUntil("the turn begins", async () => {
        return (await runtime.store.read.sessions.get(session.id))?.state === "working";
      });
    };
    const seen = await look(runtime, session.id);
    expect(seen?.state === "working" || (seen?.pending ?? 0) > 0, JSON.stringify(seen)).toBe(true);
  });
});
