// @module-tag slow
/** The primary is killed and its synchronous standby promoted: the store continues on the standby and loses nothing. */
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";
import { noStandby, type Pair, startPair } from "@aegis/test/helpers/postgres-pair.ts";
import { message } from "@aegis/test/helpers/rows.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { addSession } from "@aegis/test/suites/store-suite.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { openPostgresStore } from "../src/store.ts";

const socket = ".s.PGSQL.5432";

async function pairOfServers(): Promise<Pair> {
  const pair = await startPair();
  onTestFinished(() => pair.stop());
  return pair;
}

async function openStore(url: string, history?: { published: number }): Promise<Store> {
  const more = history === undefined ? {} : { history };
  const store = await openPostgresStore({ url, schema: "ha", log: silentLogger, ...more });
  onTestFinished(() => store.close());
  return store;
}

function admit(store: Store, session: SessionId): Promise<string> {
  const row = message(session, { id: newId("msg", 1) });
  return store.transact(async (tx) => {
    await tx.messages.insert(row);
    await tx.events.append({ type: "message.admitted", session, data: { message: row } }, 1);
    return row.id;
  });
}

const title = `a standby that is promoted${noStandby === null ? "" : `: ${noStandby}`}`;

describe.skipIf(noStandby !== null)(title, { timeout: scaled(60_000) }, () => {
  it("has every commit that was confirmed, and the store continues on it", async () => {
    const pair = await pairOfServers();
    // The standby comes first, and is not used as long as it is one.
    const store = await openStore(pair.url(pair.standby, pair.primary));
    const { id } = await addSession(store);
    const confirmed: string[] = [];
    let going = true;
    const lanes = Array.from({ length: 4 }, async () => {
      while (going)
        await admit(store, id).then(
          (message) => void confirmed.push(message),
          () => {},
        );
    });
    await waitUntil("it writes", () => confirmed.length > 20);
    await pair.killPrimary();
    pair.promote();
    const before = confirmed.length;
    await waitUntil("it writes again", () => confirmed.length > before + 20);
    going = false;
    await Promise.all(lanes);
    const stored = (await store.read.messages.list(id)).map((row) => row.id);
    expect(stored.toSorted()).toEqual(confirmed.toSorted());
    const events = await store.read.events.list({ limit: 100_000 });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events).toHaveLength(stored.length);
  });

  it("may give the id of a transaction that it lacks to another one: that is no commit", async () => {
    const pair = await pairOfServers();
    const late = await mkdtemp(join(tmpdir(), "aegis-pg-"));
    onTestFinished(() => rm(late, { recursive: true, force: true }));
    const store = await openStore(pair.url(pair.primary, late));
    const { id } = await addSession(store);
    await admit(store, id);
    // The standby keeps its connection, receives nothing, and the commit waits for it.
    const receiver = Number(pair.query(pair.standby, "SELECT pid FROM pg_stat_wal_receiver"));
    process.kill(receiver, "SIGSTOP");
    const cut = admit(store, id);
    cut.catch(() => {});
    const waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    await waitUntil("the commit waits for the standby", () => pair.query(pair.primary, waits) === "t");
    const text = "SELECT backend_xid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    const lost = Number(pair.query(pair.primary, text));
    await pair.killPrimary();
    process.kill(receiver, "SIGKILL");
    pair.promote();
    await waitUntil("another transaction has its id", () => {
      return Number(pair.query(pair.primary, "SELECT pg_current_xact_id()")) >= lost;
    });
    // Only now does the store find the server.
    await symlink(join(pair.primary, socket), join(late, socket));
    await expect(cut).rejects.toMatchObject({ code: "unavailable" });
    expect(await store.read.messages.list(id)).toHaveLength(1);
    await admit(store, id);
    expect(await store.read.messages.list(id)).toHaveLength(2);
  });

  it("without the last commits is refused, also by a node that joins again", async () => {
    const pair = await pairOfServers();
    const hosts = pair.url(pair.primary, pair.standby);
    const history = { published: 0 };
    const store = await openStore(hosts, history);
    const { id } = await addSession(store);
    await admit(store, id);
    await pair.detach();
    await admit(store, id);
    await store.close();
    await pair.killPrimary();
    pair.promote();
    const again = openStore(hosts, history);
    await expect(again).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/has lost commits: its last event is \d+, and this node has published event \d+/),
    });
    // A restart accepts the loss.
    const restarted = await openStore(hosts);
    expect(await restarted.read.messages.list(id)).toHaveLength(1);
  });
});
