/** What every implementation of the store port must do for subagents and the pool. */

import { newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { StarterAgent } from "@aegis/contract/starter.ts";
import type { PooledAgent } from "@aegis/contract/subagent.ts";
import type { SessionRow, Store, SubagentRow, TurnRow } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";
import { task } from "../helpers/rows.ts";

/** Makes the rows that these refer to. */
export type Rows = {
  addSession(store: Store, change?: Partial<SessionRow>): Promise<SessionRow>;
  message(session: SessionId, change?: Partial<Message>): Message;
  turnRow(session: SessionId, change?: Partial<TurnRow>): TurnRow;
};

const rights: StarterAgent = {
  slug: "a",
  source: "config",
  plugin: null,
  overrides: [],
  permission: "read",
  tools: null,
  deny_tools: ["bash"],
  subagents: {},
  may_end: [],
};

let minted = 0;

function subagentRow(session: SessionId, parent: SessionId, change: Partial<SubagentRow> = {}): SubagentRow {
  return {
    run_id: (minted++).toString(16).padStart(12, "0"),
    session,
    parent,
    root: parent,
    depth: 1,
    agent: "echo",
    label: "a",
    task: "do it",
    model: null,
    cleanup: "keep",
    status: "running",
    result: null,
    error: null,
    timeout: 300,
    deadline: 2_000,
    created_at: 1_000,
    ended_at: null,
    archived_at: null,
    announced_to: null,
    announcement: null,
    chain: null,
    hops: 0,
    ...change,
  };
}

export function subagentStoreSuite(getStore: () => Store, { addSession, message, turnRow }: Rows): void {
  async function add(parent: SessionId, change: Partial<SubagentRow> = {}): Promise<SubagentRow> {
    const place = { started_by: parent, root: change.root ?? parent, depth: change.depth ?? 1 };
    const session = await addSession(getStore(), { parent, ...place });
    const row = subagentRow(session.id, parent, change);
    await getStore().transact((tx) => tx.subagents.insert(row));
    return row;
  }

  describe("subagents", () => {
    it("come back as they were put in, by run and by session", async () => {
      const { read } = getStore();
      const root = await addSession(getStore());
      const row = await add(root.id, { model: "m", chain: newId("msg", 1), hops: 3, timeout: 0.5 });
      expect(await read.subagents.get(row.run_id)).toEqual(row);
      expect(await read.subagents.ofSession(row.session)).toEqual(row);
      expect(await read.subagents.get("ffffffffffff")).toBeNull();
      expect(await read.subagents.ofSession(root.id)).toBeNull();
      await expect(getStore().transact((tx) => tx.subagents.insert(row))).rejects.toMatchObject({ code: "conflict" });
    });

    it("are found below a session at every depth, nearest first", async () => {
      const { read } = getStore();
      const root = await addSession(getStore());
      const one = await add(root.id);
      const two = await add(one.session, { root: root.id, depth: 2 });
      const three = await add(two.session, { root: root.id, depth: 3 });
      const other = await add(root.id);
      await add((await addSession(getStore())).id);
      const runs = async (session: SessionId) => (await read.subagents.below(session)).map((row) => row.run_id);
      expect(await runs(root.id)).toEqual([one, other, two, three].map((row) => row.run_id));
      expect(await runs(two.session)).toEqual([three.run_id]);
      expect(await runs(three.session)).toEqual([]);
    });

    it("end once, and are counted and summed up by their root", async () => {
      const { read } = getStore();
      const root = await addSession(getStore());
      const one = await add(root.id);
      const two = await add(one.session, { root: root.id, depth: 2 });
      const end = { status: "done" as const, result: "r", error: null, at: 1_500 };
      await getStore().transact((tx) => tx.subagents.end(one.run_id, end));
      expect(await read.subagents.get(one.run_id)).toMatchObject({ status: "done", result: "r", ended_at: 1_500 });
      await expect(getStore().transact((tx) => tx.subagents.end(one.run_id, end))).rejects.toMatchObject({
        code: "conflict",
      });
      expect((await read.subagents.running()).map((row) => row.run_id)).toEqual([two.run_id]);
      expect(await read.subagents.countRunning(root.id)).toBe(0);
      expect(await read.subagents.countRunning(one.session)).toBe(1);
      const usage = { input: 1, cache_read: 0, cache_write: 0, output: 7, cost: 0.25 };
      await getStore().transact(async (tx) => {
        for (const { session } of [one, two]) await tx.turns.insert(turnRow(session, { usage }));
        await tx.turns.insert(turnRow(two.session, { usage: { ...usage, cost: null } }));
        // Turns that did nothing have no cost.
        await tx.turns.insert(turnRow(two.session, { reason: "failed" }));
        await tx.turns.insert(turnRow(two.session, { reason: "completed" }));
      });
      expect(await read.subagents.totals(root.id, 0)).toEqual({ live: 1, spawned: 2, recent: 2 });
      const { harness } = root;
      expect(await read.subagents.spending(root.id, harness)).toEqual({ output_tokens: 21, cost: 0.5, untold: 1 });
      expect(await read.subagents.spending(root.id, "other")).toMatchObject({ untold: 2 });
      const nobody = await addSession(getStore());
      expect(await read.subagents.totals(nobody.id, 0)).toEqual({ live: 0, spawned: 0, recent: 0 });
      expect(await read.subagents.spending(nobody.id, "")).toEqual({ output_tokens: 0, cost: 0, untold: 0 });
    });

    it("are listed by status and parent until they are archived", async () => {
      const { read } = getStore();
      const root = await addSession(getStore());
      const [one, two] = [await add(root.id), await add(root.id)];
      await getStore().transact((tx) =>
        tx.subagents.end(one.run_id, { status: "killed", result: null, error: "x", at: 1_500 }),
      );
      const runs = async (filter: Partial<Parameters<typeof read.subagents.list>[0]>) =>
        (await read.subagents.list({ archived: false, limit: 10, ...filter })).map((row) => row.run_id);
      expect(await runs({})).toEqual([one.run_id, two.run_id]);
      expect(await runs({ status: "killed", parent: root.id })).toEqual([one.run_id]);
      expect((await read.subagents.expired(1_499)).map((row) => row.run_id)).toEqual([]);
      expect((await read.subagents.expired(1_500)).map((row) => row.run_id)).toEqual([one.run_id]);
      await getStore().transact((tx) => tx.subagents.archive(one.run_id, 1_600));
      expect(await read.subagents.expired(9_999)).toEqual([]);
      expect(await runs({})).toEqual([two.run_id]);
      expect(await runs({ archived: true })).toEqual([one.run_id, two.run_id]);
    });

    it("know whose announcement waits and whose was not read", async () => {
      const { read } = getStore();
      const root = await addSession(getStore());
      const row = await add(root.id);
      const told = message(root.id);
      const status = (to: Message["status"]) => getStore().transact((tx) => tx.messages.setStatus([told.id], to, null));
      await getStore().transact(async (tx) => {
        await tx.messages.insert(told);
        await tx.subagents.announce(row.run_id, { announced_to: root.id, announcement: told.id });
      });
      expect(await read.subagents.undelivered(root.id)).toHaveLength(1);
      expect(await read.subagents.unheard()).toEqual([]);
      for (const to of ["refused", "lost"] as const) {
        await status(to);
        expect(await read.subagents.undelivered(root.id)).toEqual([]);
        expect((await read.subagents.unheard()).map((one) => one.run_id)).toEqual([row.run_id]);
      }
      await status("done");
      expect(await read.subagents.unheard()).toEqual([]);
    });
  });

  describe("the pool", () => {
    async function pooled(change: Partial<PooledAgent> = {}, session: Partial<SessionRow> = {}): Promise<PooledAgent> {
      const row: PooledAgent = {
        session: (await addSession(getStore(), session)).id,
        key: "agent-echo",
        source: "config",
        plugin: null,
        slug: "echo",
        config_hash: "h",
        uses: 0,
        created_at: 1_000,
        last_used_at: 1_000,
        lease: null,
        ...change,
      };
      await getStore().transact((tx) => tx.pool.insert(row));
      return row;
    }
    const sessions = (rows: readonly PooledAgent[]) => rows.map((row) => row.session);

    it("count together with every other session of the tree, and with tasks that wait for a worker", async () => {
      const { read } = getStore();
      const root = await addSession(getStore());
      const place = { started_by: root.id, root: root.id, depth: 1 };
      const peer = await addSession(getStore(), place);
      await addSession(getStore(), { ...place, created_at: 1_000, closed_at: 2_000, state: "closed" });
      const held = await pooled({}, place);
      await getStore().transact((tx) => tx.pool.lease(held.session, { id: "lease", holder: peer.id, since: 1 }));
      // Held by somebody who is held by the tree itself.
      const deeper = await pooled({}, {});
      await getStore().transact((tx) => tx.pool.lease(deeper.session, { id: "other", holder: held.session, since: 1 }));
      const starter = { session: root.id, root: root.id, depth: 0, limits: null, own_rights: false, agent: rights };
      const worker = await addSession(getStore(), place);
      const failed = await addSession(getStore(), { ...place, closed_at: 2_000, state: "closed" });
      const tried = task({ queue: "tree", starter, status: "dispatched", worker: worker.id, attempts: 2 });
      const attempt = { queue: "tree", ended_at: null, error: null, output_tokens: null, cost: null };
      await getStore().transact(async (tx) => {
        await tx.tasks.insert(task({ queue: "tree", starter }));
        await tx.tasks.insert(tried);
        for (const [at, session] of [failed, worker].entries())
          await tx.tasks.insertAttempt({
            ...attempt,
            task: tried.id,
            number: at + 1,
            worker: session.id,
            started_at: at,
          });
        await tx.tasks.insert(task({ queue: "tree", starter, status: "completed" }));
      });
      // The two attempts of one task are one piece of work, and so is the task that waits.
      expect(await read.subagents.totals(root.id, 0)).toEqual({ live: 4, spawned: 5, recent: 5 });
      // What is over counts for a while after its start, what is open for as long as it is; a pooled agent for its start.
      expect(await read.subagents.totals(root.id, 9_000)).toEqual({ live: 4, spawned: 5, recent: 3 });
      expect(await read.subagents.children(root.id)).toBe(2);
      expect(await read.subagents.children(peer.id)).toBe(1);
      expect(await read.tasks.next("tree", 9_000)).toMatchObject({ starter });
      expect(await read.tasks.next("tree", 9_000, [root.id])).toBeNull();
    });

    it("leases to one holder at a time, and a lease ends once", async () => {
      const { read } = getStore();
      const holder = await addSession(getStore());
      const row = await pooled();
      const lease = { id: "l1", holder: holder.id, since: 1_100 };
      await getStore().transact((tx) => tx.pool.lease(row.session, lease));
      expect(await read.pool.get(row.session)).toEqual({ ...row, lease, uses: 1, last_used_at: 1_100 });
      await expect(
        getStore().transact((tx) => tx.pool.lease(row.session, { ...lease, id: "l2" })),
      ).rejects.toMatchObject({ code: "conflict" });
      const release = (id: string) => getStore().transact((tx) => tx.pool.release(row.session, id, 1_200));
      for (const other of ["l0", "l2"]) expect(await release(other)).toBe(false);
      expect(await release("l1")).toBe(true);
      expect(await release("l1")).toBe(false);
      expect(await read.pool.get(row.session)).toMatchObject({ lease: null, last_used_at: 1_200 });
      await getStore().transact((tx) => tx.pool.lease(row.session, lease));
      expect(await getStore().transact((tx) => tx.pool.releaseAll())).toEqual([row.session]);
      expect(await read.pool.get(row.session)).toMatchObject({ lease: null });
    });

    it("finds the idle ones of the very same agent, the last used first", async () => {
      const { read } = getStore();
      const old = await pooled({ last_used_at: 1 });
      const recent = await pooled({ last_used_at: 2 });
      for (const change of [{ config_hash: "other" }, { slug: "ohce" }, { source: "user" as const }, { plugin: "p" }]) {
        await pooled({ last_used_at: 3, ...change });
      }
      const working = await pooled({}, { state: "working" });
      const waiting = await pooled();
      const parent = await pooled();
      const closed = await pooled({}, { closed_at: 1, state: "closed" });
      await add(parent.session);
      await getStore().transact((tx) => tx.messages.insert(message(waiting.session)));
      expect(sessions(await read.pool.idle(old))).toEqual([recent.session, old.session]);
      const idle = sessions(await read.pool.idleForLongest());
      expect(idle[0]).toBe(old.session);
      for (const one of [working, waiting, parent, closed]) expect(idle).not.toContain(one.session);
      expect(await read.pool.get(closed.session)).toBeNull();
      expect(await read.pool.count()).toBe((await read.pool.list()).length);
      expect(sessions(await read.pool.list())).not.toContain(closed.session);
    });

    it("has roots: sessions that somebody works for, and that work for nobody, the open ones first", async () => {
      const { read } = getStore();
      const before = await read.subagents.roots(100);
      const [above, asking] = [await addSession(getStore()), await addSession(getStore())];
      const [idle, closed] = [
        await addSession(getStore()),
        await addSession(getStore(), { closed_at: 1, state: "closed" }),
      ];
      const child = await add(above.id);
      await add(child.session, { root: above.id, depth: 2 });
      await add(closed.id);
      const helper = await pooled();
      const sender = (from: { id: SessionId; handle: string }) => ({
        kind: "agent" as const,
        session: from.id,
        handle: from.handle,
      });
      await getStore().transact(async (tx) => {
        await tx.messages.insert(message(helper.session, { sender: sender(asking) }));
        await tx.messages.insert(message(helper.session));
        await tx.messages.insert(message(idle.id, { sender: sender(asking) }));
      });
      const roots = (await read.subagents.roots(100)).filter((row) => !before.some((one) => one.id === row.id));
      expect(roots).toEqual([above, asking, closed].map(({ id, handle, closed_at }) => ({ id, handle, closed_at })));
      expect((await read.subagents.roots(0)).map(({ id }) => id)).not.toContain(closed.id);
      const work = { session: helper.session, holder: asking.id, state: "idle", tasks: 1 };
      expect(await read.subagents.pooled(asking.id)).toMatchObject([work]);
      expect(await read.subagents.pooled(above.id)).toEqual([]);
    });

    it("knows who gave a session work", async () => {
      const { read } = getStore();
      const [user, stranger] = [await addSession(getStore()), await addSession(getStore())];
      const row = await pooled();
      const sender = { kind: "agent" as const, session: user.id, handle: user.handle };
      await getStore().transact((tx) => tx.messages.insert(message(row.session, { sender })));
      expect(await read.pool.wasUsedBy(row.session, user.id)).toBe(true);
      expect(await read.pool.wasUsedBy(row.session, stranger.id)).toBe(false);
    });
  });
}
