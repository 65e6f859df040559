// @module-tag slow
/** `aegis store copy`: the data of a project moves to PostgreSQL and back, complete or not at all. */
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Connection } from "@aegis/store-sqlite/connection.ts";
import { SqliteRows } from "@aegis/store-sqlite/raw.ts";
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { clusterFile, databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { asked, detached, long, untilStatus } from "../helpers/projects/flows.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted }\nqueues:\n  work: { agent: dev }\n",
  ".aegis/plugins/flows.ts": long,
};

describe.skipIf(noPostgres !== null)("aegis store copy", { timeout: scaled(120_000) }, () => {
  const postgres = filePostgres();

  const counts = async (schema: string): Promise<Record<string, number>> => {
    const client = new Client(postgres.url);
    await client.connect();
    try {
      const found: Record<string, number> = {};
      const text = "SELECT tablename FROM pg_tables WHERE schemaname = $1";
      for (const { tablename } of (await client.query<{ tablename: string }>(text, [schema])).rows) {
        const { rows } = await client.query<{ n: string }>(`SELECT count(*) AS n FROM ${schema}."${tablename}"`);
        found[tablename] = Number(rows[0]?.n);
      }
      return found;
    } finally {
      await client.end();
    }
  };
  const schemas = async (like: string): Promise<string[]> => {
    const client = new Client(postgres.url);
    await client.connect();
    try {
      const text = "SELECT nspname FROM pg_namespace WHERE nspname LIKE $1 ORDER BY 1";
      return (await client.query<{ nspname: string }>(text, [like])).rows.map(({ nspname }) => nspname);
    } finally {
      await client.end();
    }
  };
  const state = (project: AegisProject) => join(project.root, ".aegis", "state");
  const useCluster = async (project: AegisProject, name: string) => {
    await writeFile(join(project.root, ".aegis.local.yaml"), clusterFile(name)[".aegis.local.yaml"] ?? "");
    project.env[databaseVariable] = postgres.url;
  };

  it("moves everything to PostgreSQL and back; sessions go on in both", async () => {
    // The empty local file keeps this project embedded when all tests run on PostgreSQL.
    const project = await aegisProject({ ...files, ".aegis.local.yaml": "" });
    const { aegis, json } = project;
    const name = newProjectName();
    await aegis("spawn", "--handle", "ada");
    expect((await aegis("send", "ada", "who is here", "--wait")).code).toBe(0);
    expect((await aegis("queue", "enqueue", "work", "list files", "--wait")).code).toBe(0);
    const run = await detached(project, "long");
    const ask = await asked(project);
    await useCluster(project, name);

    // While the daemon runs, and while a run is unfinished, nothing happens.
    const taken = await aegis("store", "copy", "--to", "postgres");
    expect(taken.code).not.toBe(0);
    expect(taken.stderr).toContain("aegis down");
    await aegis("down");
    const unfinished = await aegis("store", "copy", "--to", "postgres");
    expect(unfinished.stderr).toContain(`1 runs are unfinished: ${run}`);
    expect(await schemas(`aegis_${name}%`)).toEqual([]);
    const early = await aegis("up");
    expect(early.stderr).toContain("the sessions of this project are in its embedded database");
    expect(early.stderr).toContain("aegis store copy --to postgres");
    await writeFile(join(project.root, ".aegis.local.yaml"), "");
    await aegis("answer", ask, "yes");
    await untilStatus(project, run, "ok");
    await aegis("down");

    const before = rowsOf(join(state(project), "aegis.db"));
    expect(before.sessions).toBeGreaterThan(1);
    await useCluster(project, name);
    const moved = await json<{ copied: Record<string, number>; set_aside: string }>(
      "store",
      "copy",
      "--to",
      "postgres",
    );
    const { identity: _, ...expected } = before;
    expect(moved.copied).toEqual(expected);
    expect(await counts(`aegis_${name}`)).toMatchObject(expected);
    expect(await readdir(state(project))).toContain(moved.set_aside);
    expect(await readdir(state(project))).not.toContain("aegis.db");
    // Once more: it is there already.
    expect((await aegis("store", "copy", "--to", "postgres")).stdout).toContain("already in PostgreSQL");

    const onPostgres = await aegis("send", "ada", "who is here", "--wait");
    expect(onPostgres.code).toBe(0);
    expect((await aegis("queue", "enqueue", "work", "list files", "--wait")).code).toBe(0);
    expect((await aegis("workflow", "status", run)).stdout).toContain("ok");
    const running = await aegis("store", "copy", "--to", "sqlite");
    expect(running.code).not.toBe(0);
    await aegis("down");
    const after = await counts(`aegis_${name}`);
    expect(after.turns).toBe((before.turns ?? 0) + 2);

    const back = await json<{ copied: Record<string, number>; set_aside: string }>("store", "copy", "--to", "sqlite");
    expect(rowsOf(join(state(project), "aegis.db"))).toMatchObject(back.copied);
    expect(back.copied.turns).toBe(after.turns);
    expect(await schemas(`aegis_${name}%`)).toEqual([back.set_aside]);
    await writeFile(join(project.root, ".aegis.local.yaml"), "");
    expect((await aegis("send", "ada", "who is here", "--wait")).code).toBe(0);
    const { sessions } = await json<{ sessions: { handle: string }[] }>("ps", "--all");
    expect(sessions.map(({ handle }) => handle)).toContain("ada");
  });

  it("leaves nothing behind when it is killed, and finishes when it is run again", async () => {
    const project = await aegisProject({ ...files, ".aegis.local.yaml": "" });
    const { aegis } = project;
    const name = newProjectName();
    await aegis("spawn", "--handle", "ada");
    // After a clean stop the database would have to keep its digest.
    process.kill((await project.daemonPid()) ?? 0, "SIGKILL");
    await waitUntil("it is gone", async () => (await project.daemonPid()) === null);
    manyEvents(join(state(project), "aegis.db"), 60_000);
    await useCluster(project, name);
    const copying = project.start("store", "copy", "--to", "postgres");
    await waitUntil("it writes", async () => (await writing(postgres.url)) > 0);
    copying.child.kill("SIGKILL");
    await copying.ended;
    await waitUntil("the server has noticed", async () => (await writing(postgres.url)) === 0);
    expect(await schemas(`aegis_${name}%`)).toEqual([]);
    expect(await readdir(state(project))).toContain("aegis.db");
    const again = await project.json<{ copied: Record<string, number> }>("store", "copy", "--to", "postgres");
    expect(again.copied.events).toBeGreaterThan(60_000);
    expect((await aegis("ps")).stdout).toContain("ada");
  });

  it("refuses while a node of another role runs, whose statements the server hides", async () => {
    const name = newProjectName();
    await postgres.asAdmin("CREATE ROLE mover LOGIN", "GRANT CREATE ON DATABASE postgres TO mover");
    const project = await aegisProject({ ...files, ...clusterFile(name) });
    project.env[databaseVariable] = postgres.url;
    await project.aegis("up");
    await postgres.asAdmin(
      `GRANT USAGE ON SCHEMA aegis_${name} TO mover`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA aegis_${name} TO mover`,
    );
    const other = await aegisProject({ ...files, ...clusterFile(name) });
    other.env[databaseVariable] = postgres.url.replace("postgres@", "mover@");
    const { code, stderr } = await other.aegis("store", "copy", "--to", "sqlite");
    expect(code).not.toBe(0);
    expect(stderr).toContain(`a node of this project is running on the schema aegis_${name}`);
  });

  it("does not overwrite another project", async () => {
    const name = newProjectName();
    const first = await aegisProject({ ...files, ...clusterFile(name) });
    first.env[databaseVariable] = postgres.url;
    await first.aegis("spawn", "--handle", "grace");
    await first.aegis("down");
    const second = await aegisProject({ ...files, ".aegis.local.yaml": "" });
    await second.aegis("spawn", "--handle", "ada");
    await second.aegis("down");
    await useCluster(second, name);
    const { code, stderr } = await second.aegis("store", "copy", "--to", "postgres");
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/already holds a project with 1 sessions/);
    expect((await counts(`aegis_${name}`)).sessions).toBe(1);
    expect((await second.aegis("store", "copy")).stderr).toContain("expected --to postgres or --to sqlite");
    second.env[databaseVariable] = "postgres://aegis@127.0.0.1:1/aegis";
    const away = await second.aegis("store", "copy", "--to", "postgres");
    expect(away.stderr).toMatch(/ECONNREFUSED.*\n.*check the address in the database URL/);
    expect(away.stderr).not.toContain("tries again");
  });
});

function rowsOf(path: string): Record<string, number> {
  const connection = new Connection(path, { readOnly: true });
  try {
    const rows = new SqliteRows(connection);
    return Object.fromEntries(rows.tables().map(({ name }) => [name, rows.count(name)]));
  } finally {
    connection.close();
  }
}

function manyEvents(path: string, count: number): void {
  const connection = new Connection(path);
  try {
    connection.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO events (seq, at, type, session, data)
      SELECT (SELECT max(seq) FROM events) + i, 1, 'daemon.stopping', NULL, '{"reason":"x"}' FROM n;
      PRAGMA wal_checkpoint(TRUNCATE)`);
  } finally {
    connection.close();
  }
}

/** Connections of a project that are in a transaction that has written. */
async function writing(url: string): Promise<number> {
  const client = new Client(url);
  await client.connect();
  try {
    const text = `SELECT count(*) AS n FROM pg_stat_activity
      WHERE application_name LIKE 'aegis %' AND backend_xid IS NOT NULL`;
    return Number((await client.query<{ n: string }>(text)).rows[0]?.n);
  } finally {
    await client.end();
  }
}
