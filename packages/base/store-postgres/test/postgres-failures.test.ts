// @module-tag slow
/** Lost connections, a killed server, and servers that cannot be used. */

import { isAegisError } from "@aegis/contract/errors.ts";
import { type MessageId, newId, type SessionId } from "@aegis/contract/ids.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createRedactor } from "@aegis/lib/redact.ts";
import { patientStore } from "@aegis/store/patient.ts";
import { redactingStore } from "@aegis/store/redacting.ts";
import type { Store } from "@aegis/store/store.ts";
import { Connection } from "@aegis/store-sqlite/connection.ts";
import { migrate, newestVersion } from "@aegis/store-sqlite/migrate.ts";
import { migrations } from "@aegis/store-sqlite/migrations/list.ts";
import { installations, type Server, startPostgres } from "@aegis/test/helpers/postgres.ts";
import { message, sessionRow } from "@aegis/test/helpers/rows.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { addSession } from "@aegis/test/suites/store-suite.ts";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openPostgresStore } from "../src/store.ts";
import { type Loss, startProxy } from "./postgres-proxy.ts";

const installed = Object.values(installations).find(({ missing }) => missing === null);

describe.skipIf(installed === undefined)("a store on PostgreSQL", () => {
  let server: Server;
  let schemas = 0;

  beforeAll(async () => {
    if (installed !== undefined) server = await startPostgres(installed);
  }, scaled(60_000));
  afterAll(() => server?.stop(), scaled(30_000));

  const newSchema = () => `f${++schemas}`;
  const open = async (url: string, schema: string): Promise<Store> => {
    const store = await openPostgresStore({ url, schema, log: silentLogger });
    onTestFinished(() => store.close());
    return store;
  };
  const asAdmin = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client(server.url("postgres"));
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };

  /** Admits one message after the other until told to stop. Returns which were confirmed and which refused. */
  async function admit(store: Store, session: SessionId, going: () => boolean) {
    const confirmed: MessageId[] = [];
    const refused: MessageId[] = [];
    while (going()) {
      const row = message(session, { id: newId("msg", 1) });
      try {
        await store.transact(async (tx) => {
          await tx.messages.insert(row);
          await tx.events.append({ type: "message.admitted", session, data: { message: row } }, 1);
        });
        confirmed.push(row.id);
      } catch (error) {
        expect(isAegisError(error) && error.code).toBe("unavailable");
        refused.push(row.id);
      }
    }
    return { confirmed, refused };
  }

  it("knows the outcome of every commit whose request or answer was lost", { timeout: scaled(60_000) }, async () => {
    const proxy = await startProxy(server.url("postgres"));
    onTestFinished(() => proxy.close());
    const store = await open(proxy.url, newSchema());
    const { id } = await addSession(store);
    const losses: Loss[] = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? "answer" : "request"));
    let commits = 0;
    store.onCommit(() => {
      commits += 1;
      const loss = commits % 2 === 0 ? losses.pop() : undefined;
      if (loss !== undefined) proxy.loseNext(loss);
    });
    const going = () => losses.length > 0 || proxy.lost < 20;
    const lanes = await Promise.all(Array.from({ length: 4 }, () => admit(store, id, going)));
    expect(proxy.lost).toBe(20);
    const stored = (await store.read.messages.list(id)).map((row) => row.id);
    expect(stored.toSorted()).toEqual(lanes.flatMap(({ confirmed }) => confirmed).sort());
    expect(lanes.flatMap(({ refused }) => refused).length).toBeGreaterThan(0);
    const events = await store.read.events.list({ limit: 100_000 });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1));
    expect(events).toHaveLength(stored.length);
  });

  it("refuses the units of a connection that is lost between them, and stores nothing of any", async () => {
    const proxy = await startProxy(server.url("postgres"));
    onTestFinished(() => proxy.close());
    const store = await open(proxy.url, newSchema());
    const { id } = await addSession(store);
    /** Unit 3 fails on its own after it wrote. */
    const admitAll = (through: Store, name: string) =>
      Promise.allSettled(
        Array.from({ length: 8 }, (_, n) =>
          through.transact(async (tx) => {
            expect((await tx.sessions.get(id))?.id).toBe(id);
            await tx.messages.insert(message(id, { body: `${name} ${n}` }));
            const { seq } = await tx.events.append(
              { type: "session.notice", session: id, data: { level: "info", text: name } },
              n,
            );
            if (n === 3) throw new Error("on its own");
            return seq;
          }),
        ),
      );
    const stored = async () => (await store.read.messages.list(id)).map(({ body }) => body);
    for (const [name, cut] of [
      ["early", "BEGIN"],
      ["between", "between 5"],
      ["undoing", "ROLLBACK TO unit"],
    ] as const) {
      proxy.cutAt(cut);
      const results = await admitAll(store, name);
      const codes = results.map((result) => (result.status === "rejected" ? (result.reason.code ?? "own") : "stored"));
      if (name === "early") expect(codes.filter((code) => code !== "own")).toEqual(Array(7).fill("stored"));
      else expect(new Set(codes.filter((code) => code !== "own"))).toEqual(new Set(["unavailable"]));
      expect((await stored()).filter((body) => body.startsWith(name)).length).toBe(name === "early" ? 7 : 0);
    }
    expect(proxy.lost).toBe(3);
    proxy.cutAt("patient 5");
    const patient = patientStore(store, silentLogger);
    const results = await admitAll(patient, "patient");
    expect(results.map(({ status }) => status === "fulfilled")).toEqual(results.map((_, n) => n !== 3));
    expect((await stored()).filter((body) => body.startsWith("patient")).length).toBe(7);
    const events = await store.read.events.list({ limit: 100 });
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 14 }, (_, n) => n + 1));
  });

  it("lets a unit whose insert fails, fail alone, and runs each unit once", async () => {
    const store = await open(server.url("postgres"), newSchema());
    const { id } = await addSession(store);
    const taken = message(id, { body: "taken" });
    await store.transact((tx) => tx.messages.insert(taken));
    const before = await store.read.events.lastSeq();
    const orphan = newId("ses", 1);
    const rows = [
      message(id, { body: "0" }),
      { ...taken, body: "1" },
      message(id, { body: "2" }),
      message(orphan, { body: "3" }),
      message(id, { body: "4" }),
    ];
    let runs = 0;
    const results = await Promise.allSettled(
      rows.map((row) =>
        store.transact(async (tx) => {
          runs += 1;
          await tx.messages.insert(row);
          // What a unit sees of its own row is what is stored.
          expect((await tx.messages.get(row.id))?.body).toBe(row.body);
          const data = { level: "info" as const, text: row.body };
          return (await tx.events.append({ type: "session.notice", session: row.session, data }, 1)).seq;
        }),
      ),
    );
    const outcomes = results.map((result) => (result.status === "fulfilled" ? result.value : result.reason.code));
    expect(outcomes).toEqual([before + 1, "conflict", before + 2, "not_found", before + 3]);
    expect((await store.read.messages.list(id)).map(({ body }) => body)).toEqual(["taken", "0", "2", "4"]);
    const events = await store.read.events.list({ after: before, limit: 10 });
    expect(events.map(({ seq, data }) => [seq, "text" in data ? data.text : ""])).toEqual([
      [before + 1, "0"],
      [before + 2, "2"],
      [before + 3, "4"],
    ]);
    expect(runs).toBe(rows.length);
  });

  it("lets a unit whose first read fails, fail alone", async () => {
    const store = await open(server.url("postgres"), newSchema());
    const { id } = await addSession(store);
    const results = await Promise.allSettled(
      Array.from({ length: 5 }, (_, n) =>
        store.transact(async (tx) => {
          // The server refuses a negative limit.
          await tx.events.list({ session: id, limit: n === 2 ? -1 : 1 });
          await tx.messages.insert(message(id, { body: String(n) }));
        }),
      ),
    );
    expect(results.map(({ status }) => status === "fulfilled")).toEqual([true, true, false, true, true]);
    expect((await store.read.messages.list(id)).map(({ body }) => body)).toEqual(["0", "1", "3", "4"]);
  });

  it("loses nothing that it confirmed when the server is killed, and goes on", {
    timeout: scaled(90_000),
  }, async () => {
    const store = await open(server.url("postgres"), newSchema());
    const { id } = await addSession(store);
    const fed: number[] = [];
    store.onCommit((events) => void fed.push(...events.map(({ seq }) => seq)));
    let restarted = false;
    let after = 0;
    const lanes = Array.from({ length: 4 }, () => admit(store, id, () => !restarted || after++ < 20));
    while (fed.length < 20) await new Promise((resolve) => setImmediate(resolve));
    await server.restart("SIGKILL");
    restarted = true;
    const confirmed = (await Promise.all(lanes)).flatMap((lane) => lane.confirmed);
    const stored = (await store.read.messages.list(id)).map((row) => row.id);
    expect(stored.toSorted()).toEqual(confirmed.sort());
    await store.transact((tx) =>
      tx.events.append({ type: "daemon.stopping", session: null, data: { reason: "end" } }, 1),
    );
    expect(fed).toEqual(Array.from({ length: stored.length + 1 }, (_, n) => n + 1));
  });

  it("refuses to write once the server has lost an event that it published", async () => {
    const schema = newSchema();
    const lost = Promise.withResolvers<Error>();
    const place = { url: server.url("postgres"), schema, log: silentLogger };
    const store = await openPostgresStore({ ...place, onHistoryLost: lost.resolve });
    onTestFinished(() => store.close());
    const append = () =>
      store.transact((tx) => tx.events.append({ type: "daemon.stopping", session: null, data: { reason: "x" } }, 1));
    for (let n = 0; n < 3; n += 1) await append();
    // As after the promotion of a standby that had not received it.
    await asAdmin((client) => client.query(`DELETE FROM ${schema}.events WHERE seq = 3`));
    const message = "its last event is 2, and this node has published event 3";
    await expect(append()).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining(message) });
    expect((await lost.promise).message).toContain("has lost commits");
    await expect(append()).rejects.toThrow(message);
    expect(await store.read.events.lastSeq()).toBe(2);
  });

  it("connects to the writable one of several servers", async () => {
    const [first, second] = [server.url("postgres"), "postgres://postgres@127.0.0.1:1/postgres"];
    const host = (url: string) => /@([^/]*)\//.exec(url)?.[1] ?? "";
    for (const hosts of [`${host(first)},${host(second)}`, `${host(second)},${host(first)}`]) {
      const store = await open(`postgres://postgres@${hosts}/postgres`, newSchema());
      const { id } = await addSession(store);
      expect((await store.read.sessions.get(id))?.id).toBe(id);
    }
  });

  it("keeps no secret in a message that is over", async () => {
    const secret = "hunter2-secret";
    const store = redactingStore(await open(server.url("postgres"), newSchema()), createRedactor([secret]));
    const session = sessionRow({ title: `about ${secret}` });
    const row = message(session.id, { body: `use ${secret}` });
    await store.transact(async (tx) => {
      await tx.sessions.insert(session);
      await tx.messages.insert(row);
    });
    expect((await store.read.sessions.get(session.id))?.title).toBe("about [redacted]");
    expect((await store.read.messages.get(row.id))?.body).toBe(`use ${secret}`);
    await store.transact((tx) => tx.messages.setStatus([row.id], "done", newId("trn", 1)));
    expect((await store.read.messages.get(row.id))?.body).toBe("use [redacted]");
  });

  it("has the columns of the embedded store", async () => {
    const schema = newSchema();
    await open(server.url("postgres"), schema);
    const text = `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = $1`;
    const found = await asAdmin(async (client) => (await client.query<{ name: string }>(text, [schema])).rows);
    const model = new Connection(":memory:");
    onTestFinished(() => model.close());
    migrate(model, migrations);
    const expected = model.all<{ name: string }>(
      `SELECT tables.name || '.' || columns.name AS name FROM sqlite_schema AS tables
        JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'`,
    );
    const own = ["aegis_schema.version", "aegis_schema.compatible", "events.queue", "events.run", "events.schedule"];
    expect(found.map(({ name }) => name).sort()).toEqual([...expected.map(({ name }) => name), ...own].sort());
  });

  describe("that cannot be used says why", () => {
    const failure = (url: string, schema = newSchema()) =>
      openPostgresStore({ url, schema, log: silentLogger }).then(
        () => null,
        (error: unknown) => error,
      );

    it("without a server", async () => {
      const url = "postgres://postgres:hunter2@127.0.0.1:1/postgres";
      const error = await failure(url);
      expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("127.0.0.1:1/postgres") });
      expect(String(error)).not.toContain("hunter2");
    });

    it("without the database or the role", async () => {
      expect(await failure(server.url("nowhere"))).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining('database "nowhere" does not exist'),
        hint: expect.stringContaining("create the database"),
      });
      const other = server.url("postgres").replace("postgres@", "stranger@");
      expect(await failure(other)).toMatchObject({ message: expect.stringContaining('role "stranger"') });
    });

    it("without the right to create a schema, or to migrate one, and names the role that can", async () => {
      await asAdmin((client) => client.query("CREATE ROLE modest LOGIN"));
      const url = server.url("postgres").replace("postgres@", "modest@");
      const missing = newSchema();
      expect(await failure(url, missing)).toMatchObject({
        code: "unavailable",
        message: `the role modest may not create the schema ${missing} in the database postgres`,
        hint: "let the role postgres, which owns the database, run: GRANT CREATE ON DATABASE postgres TO modest",
      });
      const old = newSchema();
      await (await open(server.url("postgres"), old)).close();
      const change = (text: string) => asAdmin((client) => client.query(text.replaceAll("$", old)));
      await change("GRANT USAGE ON SCHEMA $ TO modest; GRANT ALL ON ALL TABLES IN SCHEMA $ TO modest");
      await (await open(url, old)).close();
      // As a schema of an earlier version.
      await change("UPDATE $.aegis_schema SET version = version - 1");
      expect(await failure(url, old)).toMatchObject({
        code: "unavailable",
        message: `the role modest may not migrate the schema ${old} to this version of Aegis`,
        hint: expect.stringContaining("start the first node of this version with the role postgres"),
      });
      const empty = newSchema();
      await asAdmin((client) => client.query(`CREATE SCHEMA ${empty}; GRANT USAGE ON SCHEMA ${empty} TO modest`));
      expect(await failure(url, empty)).toMatchObject({ message: expect.stringContaining("may not migrate") });
    });

    it("with a schema of another program, or of a newer Aegis, which it leaves alone", async () => {
      const foreign = newSchema();
      await asAdmin((client) => client.query(`CREATE SCHEMA ${foreign}; CREATE TABLE ${foreign}.notes (x text)`));
      expect(await failure(server.url("postgres"), foreign)).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining("another program"),
      });
      const newer = newSchema();
      await (await openPostgresStore({ url: server.url("postgres"), schema: newer, log: silentLogger })).close();
      await asAdmin((client) => client.query(`UPDATE ${newer}.aegis_schema SET version = 99, compatible = 98`));
      expect(await failure(server.url("postgres"), newer)).toMatchObject({
        code: "unavailable",
        message: expect.stringContaining(`schema 99, this one knows ${newestVersion(migrations)}`),
      });
    });

    it("with a schema name that is not one", async () => {
      expect(await failure(server.url("postgres"), "a; DROP TABLE x")).toMatchObject({ code: "invalid" });
    });
  });
});
