// @module-tag slow
/** A connection pooler between a node and its database: session mode works, the others are refused before they are used. */
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { startFakePooler } from "../../packages/base/store-postgres/test/fake-pooler.ts";
import { type AegisProject, aegisProject, offlineConfig } from "../helpers/aegis.ts";
import { clusterFile, databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, sessionsAt, startNodes } from "../helpers/nodes.ts";
import { noPgBouncer, type PoolMode, startPgBouncer } from "../helpers/pgbouncer.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

describe.skipIf(noPostgres !== null)("a node behind a connection pooler", { timeout: scaled(90_000) }, () => {
  const postgres = filePostgres();

  async function nodeOn(url: string): Promise<AegisProject> {
    const project = await aegisProject({ ".aegis.yaml": offlineConfig, ...clusterFile(newProjectName()) });
    project.env[databaseVariable] = url;
    return project;
  }

  /** Another program that shares the connections of the pooler must not notice that Aegis was there. */
  async function expectRefusal(url: string): Promise<void> {
    const project = await nodeOn(url);
    const { code, stderr } = await project.aegis("up");
    expect(code, stderr).not.toBe(0);
    expect(stderr).toMatch(/does not deliver notifications.*\n.*PgBouncer in transaction mode or statement mode/);
    expect(await project.daemonPid()).toBe(null);
    expect((await project.aegis("doctor")).stdout).toMatch(/FAIL +store .*does not deliver notifications/);
    const client = new Client(url);
    await client.connect();
    try {
      const text = `SELECT current_setting('search_path') AS path, current_setting('lock_timeout') AS wait,
        (SELECT count(*)::int FROM pg_listening_channels()) AS channels,
        (SELECT count(*)::int FROM pg_namespace WHERE nspname LIKE 'aegis\\_%') AS schemas`;
      expect((await client.query(text)).rows).toEqual([
        { path: '"$user", public', wait: "0", channels: 0, schemas: 0 },
      ]);
    } finally {
      await client.end();
    }
  }

  async function bouncer(mode: PoolMode, settings?: readonly string[]): Promise<string> {
    const pooler = await startPgBouncer(postgres.url, mode, settings);
    onTestFinished(() => pooler.stop());
    return pooler.url;
  }

  it("that shares connections by transaction does not start, and leaves nothing on them", async () => {
    const pooler = await startFakePooler(postgres.url);
    onTestFinished(() => pooler.close());
    await expectRefusal(pooler.url);
  });

  describe.skipIf(noPgBouncer !== null)(`PgBouncer${noPgBouncer === null ? "" : `: ${noPgBouncer}`}`, () => {
    it.each(["transaction", "statement"] as const)("in %s mode is refused and not changed", async (mode) => {
      await expectRefusal(await bouncer(mode));
    });

    it("in session mode serves nodes that work together, also after a restart of the server", async () => {
      const [one, two] = (await startNodes(await bouncer("session"), { ".aegis.yaml": offlineConfig }, [
        "one",
        "two",
      ])) as [ClusterNode, ClusterNode];
      expect((await one.aegis("spawn", "--handle", "ada", "-m", "hello")).code).toBe(0);
      await waitUntil("the other node sees it", async () =>
        (await sessionsAt(two)).some(({ handle }) => handle === "ada"),
      );
      expect((await two.aegis("send", "ada", "across", "--wait")).code).toBe(0);
      const pids = [await one.daemonPid(), await two.daemonPid()];
      await postgres.server.restart("SIGINT");
      // Not refused: the pooler says for a moment that the server is away.
      const sent = await two.aegis("send", "ada", "again", "--wait");
      expect(sent.code, sent.stderr).toBe(0);
      expect([await one.daemonPid(), await two.daemonPid()]).toEqual(pids);
    });

    it("in session mode may keep what the last node left on a connection", async () => {
      const project = await nodeOn(await bouncer("session", ["server_reset_query ="]));
      for (const text of ["first", "second"]) {
        const up = await project.aegis("up");
        expect(up.code, up.stderr).toBe(0);
        if (text === "first") expect((await project.aegis("spawn", "--handle", "ada")).code).toBe(0);
        expect((await project.aegis("send", "ada", text, "--wait")).code).toBe(0);
        expect((await project.aegis("down")).code).toBe(0);
      }
    });
  });
});
