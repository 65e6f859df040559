/** What every implementation of the store port must do for groups and their broadcasts. */

import type { Broadcast, Group } from "@aegis/contract/group.ts";
import { type GroupId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";

/** Makes the rows that a broadcast refers to. */
export type Rows = { addSession(store: Store): Promise<SessionRow>; message(session: SessionId): Message };

function groupRow(change: Partial<Group> = {}): Group {
  return {
    id: newId("grp", 1_000),
    name: "team",
    reducer: null,
    timeout: null,
    created_at: 1_000,
    dissolved_at: null,
    ...change,
  };
}

function broadcastOf(group: GroupId, asked: readonly (readonly [SessionRow, Message])[]): Broadcast {
  return {
    id: newId("brd", 1_000),
    group,
    sender: { kind: "human" },
    objective: "find it",
    output_format: "a line",
    tool_guidance: "none",
    boundaries: "none",
    created_at: 1_000,
    settled_at: null,
    members: asked.map(([session, { id }]) => ({
      session: session.id,
      handle: session.handle,
      message: id,
      status: "waiting",
      turn: null,
      error: null,
      arrival: null,
    })),
  };
}

async function addBroadcast(store: Store, group: GroupId, count: number, rows: Rows): Promise<Broadcast> {
  const sessions = await Promise.all(Array.from({ length: count }, () => rows.addSession(store)));
  const asked = sessions.map((session) => [session, rows.message(session.id)] as const);
  const broadcast = broadcastOf(group, asked);
  await store.transact(async (tx) => {
    for (const [, one] of asked) await tx.messages.insert(one);
    await tx.broadcasts.insert(broadcast);
  });
  return broadcast;
}

export function groupStoreSuite(getStore: () => Store, rows: Rows): void {
  const { addSession, message } = rows;
  const openBroadcast = (store: Store, group: GroupId, count: number) => addBroadcast(store, group, count, rows);

  describe("groups", () => {
    it("come back as they were put in, and share a name only when at most one is alive", async () => {
      const store = getStore();
      const first = groupRow({ reducer: "concat", timeout: 1.5 });
      await store.transact((tx) => tx.groups.insert(first));
      expect(await store.read.groups.get(first.id)).toEqual(first);
      const second = groupRow();
      await expect(store.transact((tx) => tx.groups.insert(second))).rejects.toMatchObject({ code: "conflict" });
      await store.transact(async (tx) => {
        await tx.groups.dissolve(first.id, 5);
        await tx.groups.insert(second);
      });
      expect(await store.read.groups.byName("team")).toEqual(second);
      expect(await store.read.groups.newest("team")).toEqual(second);
      await store.transact((tx) => tx.groups.insert(groupRow({ name: "other", dissolved_at: 5 })));
      expect(await store.read.groups.newest("other")).toMatchObject({ dissolved_at: 5 });
      expect(await store.read.groups.byName("other")).toBeNull();
      expect(await store.read.groups.list()).toEqual([second]);
      expect(await store.read.groups.get(first.id)).toEqual({ ...first, dissolved_at: 5 });
      const again = store.transact((tx) => tx.groups.dissolve(first.id, 6));
      await expect(again).rejects.toMatchObject({ code: "conflict" });
    });

    it("have members once, in the order they joined, and tell which a dissolved one left open", async () => {
      const store = getStore();
      const group = groupRow();
      const [a, b] = [await addSession(store), await addSession(store)];
      await store.transact(async (tx) => {
        await tx.groups.insert(group);
        await tx.groups.addMember(group.id, b.id);
        await tx.groups.addMember(group.id, a.id);
        await expect(tx.groups.addMember(group.id, a.id)).rejects.toMatchObject({ code: "conflict" });
        await expect(tx.groups.addMember(group.id, newId("ses", 1))).rejects.toMatchObject({ code: "not_found" });
      });
      expect(await store.read.groups.members(group.id)).toEqual([b.id, a.id]);
      expect(await store.read.groups.ofSession(a.id)).toEqual(group);
      expect(await store.read.groups.ofSession((await addSession(store)).id)).toBeNull();
      expect(await store.read.groups.leftOpen()).toEqual([]);
      await store.transact(async (tx) => {
        await tx.groups.dissolve(group.id, 5);
        await tx.sessions.update(b.id, { closed_at: 5 });
      });
      expect(await store.read.groups.leftOpen()).toEqual([a.id]);
    });
  });

  describe("broadcasts", () => {
    it("come back as they were put in; a group has at most one that is open", async () => {
      const store = getStore();
      const group = groupRow();
      await store.transact((tx) => tx.groups.insert(group));
      const first = await openBroadcast(store, group.id, 2);
      expect(await store.read.broadcasts.get(first.id)).toEqual(first);
      expect(await store.read.broadcasts.open(group.id)).toEqual(first);
      await expect(openBroadcast(store, group.id, 1)).rejects.toMatchObject({ code: "conflict" });
      await store.transact((tx) => tx.broadcasts.settle(first.id, 9));
      const again = store.transact((tx) => tx.broadcasts.settle(first.id, 10));
      await expect(again).rejects.toMatchObject({ code: "conflict" });
      expect(await store.read.broadcasts.open(group.id)).toBeNull();
      const second = await openBroadcast(store, group.id, 1);
      expect(await store.read.broadcasts.latest(group.id)).toEqual(second);
      expect(await store.read.broadcasts.allOpen()).toEqual([second.id]);
    });

    it("settle each member once, and know what each still owes", async () => {
      const store = getStore();
      const group = groupRow();
      await store.transact((tx) => tx.groups.insert(group));
      const { id, members } = await openBroadcast(store, group.id, 2);
      const [a, b] = members;
      if (a === undefined || b === undefined) throw new Error("two members");
      expect(await store.read.broadcasts.waitingFor(a.session)).toEqual([id]);
      const later = message(b.session);
      const turn = newId("trn", 1);
      const reply = { status: "ok", turn, error: null, arrival: 1 } as const;
      const letOff = { status: "cancelled", turn: null, error: "late", arrival: 2 } as const;
      await store.transact(async (tx) => {
        await tx.messages.insert(later);
        await tx.broadcasts.moveMember(id, b.session, later.id);
        await tx.broadcasts.settleMember(id, a.session, reply);
        await expect(tx.broadcasts.settleMember(id, a.session, letOff)).rejects.toMatchObject({ code: "conflict" });
        const moved = tx.broadcasts.moveMember(id, a.session, later.id);
        await expect(moved).rejects.toMatchObject({ code: "conflict" });
      });
      expect(await store.read.broadcasts.waitingFor(a.session)).toEqual([]);
      expect(await store.read.broadcasts.letOffPending()).toEqual([]);
      await store.transact((tx) => tx.broadcasts.settleMember(id, b.session, letOff));
      expect(await store.read.broadcasts.letOffPending()).toEqual([later.id]);
      expect((await store.read.broadcasts.get(id))?.members).toEqual([
        { ...a, ...reply },
        { ...b, ...letOff, message: later.id },
      ]);
    });
  });
}
