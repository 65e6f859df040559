/** The lease of a node, and the fence in every write. */

import { silentLogger } from "@aegis/lib/log.ts";
import type { SessionRow, Store, StoreMembership } from "@aegis/store/store.ts";
import { createTransact } from "@aegis/store/transact.ts";
import { noPostgres } from "@aegis/test/helpers/cluster.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { filePostgres } from "@aegis/test/helpers/file-postgres.ts";
import { sessionRow, turnRow } from "@aegis/test/helpers/rows.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openPostgresStore } from "../src/store.ts";

describe.skipIf(noPostgres !== null)("a node", { timeout: scaled(30_000) }, () => {
  const postgres = filePostgres();

  async function open(name: string, holder = name): Promise<Store & { membership: StoreMembership }> {
    const node = { name, holder, leaseMs: 60_000, version: "0", labels: [], maxSessions: null };
    const store = await openPostgresStore({ url: postgres.url, schema: "p_nodes", log: silentLogger, node });
    onTestFinished(() => store.close());
    if (store.membership === undefined) throw new Error("the store is no node");
    return Object.assign(store, { membership: store.membership });
  }

  const write = (store: Store) =>
    store.transact((tx) => tx.events.append({ type: "config.rejected", session: null, data: { problems: [] } }, 1));

  it("cannot write after another one has declared it lost, and can after it joined again", async () => {
    const one = await open("one");
    const two = await open("two");
    const own: number[] = [];
    const others: number[] = [];
    two.onCommit((events) => own.push(...events.map(({ seq }) => seq)), undefined, "own");
    two.onCommit((events) => others.push(...events.map(({ seq }) => seq)), undefined, "others");
    const { seq } = await write(one);
    expect((await write(two)).seq).toBe(seq + 1);
    expect([own, others]).toEqual([[seq + 1], [seq]]);

    // A lease that holds cannot be ended by others.
    expect(await two.transact((tx) => tx.nodes.declareLost("one", one.membership.incarnation))).toBe(false);
    await one.membership.leave();
    expect(await two.transact((tx) => tx.nodes.declareLost("one", one.membership.incarnation))).toBe(true);
    let fenced = 0;
    one.membership.onFenced(() => {
      fenced += 1;
    });
    await expect(write(one)).rejects.toMatchObject({ code: "unavailable", message: /lost its lease/ });
    expect(fenced).toBe(1);
    // A write that must not be lost is not repeated forever.
    const { signal } = new AbortController();
    const transact = createTransact({ store: one, clock: fakeClock(0), log: silentLogger, signal });
    await expect(transact((tx) => tx.nodes.freeRuns("one"))).rejects.toThrow("lost its lease");
    expect(await one.membership.renew()).toBe(false);
    expect(await two.read.events.lastSeq()).toBe(seq + 1);

    const again = await open("one");
    expect(again.membership.incarnation).toBe(one.membership.incarnation + 1);
    expect((await write(again)).seq).toBe(seq + 2);
    await expect(write(one)).rejects.toMatchObject({ code: "unavailable" });
    await expect(open("one", "another folder")).rejects.toMatchObject({ code: "conflict" });
  });

  it("uses the clock of the database even if its own clock is wrong", async () => {
    const node = await open("timed");
    const there = async () => (await node.transact((tx) => tx.nodes.list())).find(({ name }) => name === "timed")?.now;
    vi.setSystemTime(Date.now() + 3_600_000);
    onTestFinished(() => void vi.useRealTimers());
    expect(await node.membership.renew()).toBe(true);
    const before = node.membership.now();
    const now = (await there()) ?? 0;
    const slack = scaled(1_000);
    expect(now).toBeGreaterThan(before - slack);
    expect(node.membership.now()).toBeGreaterThan(now - slack);
    expect(node.membership.now()).toBeLessThan(now + slack);
  });

  it("does not mix up its files with those of another node under the same path", async () => {
    const [one, two] = [await open("first"), await open("second")];
    const session = sessionRow({ handle: "here" });
    const there = sessionRow({ handle: "there" });
    const detail = { skipped: [], dirty_submodules: [], filters_off: [] };
    const state = { folder: "/srv/shop", tree: "t", head: null, problem: null, detail, at: 1 };
    const begin = (store: Store, row: SessionRow) =>
      store.transact(async (tx) => {
        const turn = turnRow(row.id);
        await tx.sessions.insert(row);
        await tx.turns.insert(turn);
        await tx.boundaries.insert({ ...state, session: row.id, turn: turn.id, edge: "open" });
        await tx.fileWrites.put({ path: "src/a.ts", session: row.id, hash: row.handle, at: 1 });
      });
    await begin(one, session);
    await begin(two, there);
    for (const [store, row] of [[one, session] as const, [two, there] as const]) {
      const { boundaries, fileWrites } = store.read;
      const seen = [
        ...[await boundaries.between("/srv/shop", 0, 1_000), await boundaries.openAt("/srv/shop", 1_000)],
        ...[await boundaries.unclosed(), await boundaries.before(2, 10)],
      ];
      expect(seen.map((rows) => rows.map((one) => one.session))).toEqual(Array(4).fill([row.id]));
      expect(await fileWrites.get("src/a.ts")).toMatchObject({ path: "src/a.ts", session: row.id, hash: row.handle });
    }
    // The session has moved: its earlier turns were in a folder that is not here.
    expect(await two.read.boundaries.ofSession(session.id)).toEqual([]);
    expect(await one.read.boundaries.ofSession(session.id)).toMatchObject([{ node: "first", folder: "/srv/shop" }]);
    await two.transact((tx) => tx.fileWrites.remove("src/a.ts"));
    expect(await one.read.fileWrites.get("src/a.ts")).not.toBeNull();
  });
});
