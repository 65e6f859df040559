/** A node checks its database before it starts anything, says what is wrong and how to correct it. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AegisProject, aegisProject, offlineConfig } from "../helpers/aegis.ts";
import { clusterFile, databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { startRewriter } from "../store/postgres-rewriter.ts";

describe.skipIf(noPostgres !== null)("a node that cannot use its database", { timeout: scaled(60_000) }, () => {
  const postgres = filePostgres(["fsync=off", "password_encryption=scram-sha-256"]);
  const { asAdmin } = postgres;

  async function nodeOn(url: string, name = newProjectName()): Promise<AegisProject> {
    const project = await aegisProject({ ".aegis.yaml": offlineConfig, ...clusterFile(name) });
    project.env[databaseVariable] = url;
    return project;
  }

  async function failure(url: string, name?: string): Promise<string> {
    const project = await nodeOn(url, name);
    const { code, stderr } = await project.aegis("up");
    expect(code, stderr).not.toBe(0);
    expect(await project.daemonPid()).toBe(null);
    return stderr;
  }

  it("has the wrong role or database, or lacks a right", async () => {
    expect(await failure(postgres.url.replace("postgres@", "stranger@"))).toMatch(
      /refused: role "stranger" does not exist\n.*check the role/,
    );
    expect(await failure(postgres.url.replace(/postgres$/, "nowhere"))).toMatch(
      /refused: database "nowhere" does not exist\n.*create the database/,
    );
    await asAdmin("CREATE ROLE modest LOGIN");
    expect(await failure(postgres.url.replace("postgres@", "modest@"))).toMatch(
      /refused: permission denied for database postgres\n.*grant the role CREATE on the database/,
    );
  });

  it("may not use the tables that another role owns", async () => {
    const name = newProjectName();
    const owner = await nodeOn(postgres.url, name);
    expect((await owner.aegis("up")).code).toBe(0);
    expect((await owner.aegis("down")).code).toBe(0);
    await asAdmin("CREATE ROLE guest LOGIN", `GRANT USAGE ON SCHEMA aegis_${name} TO guest`);
    await asAdmin(`GRANT SELECT, UPDATE ON aegis_${name}.aegis_schema TO guest`);
    const stderr = await failure(postgres.url.replace("postgres@", "guest@"), name);
    expect(stderr).toMatch(/the role guest may not use the table aegis_t_\w+\.\w+\n.*GRANT SELECT, INSERT/);
    await asAdmin(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA aegis_${name} TO guest`,
      `GRANT USAGE ON ALL SEQUENCES IN SCHEMA aegis_${name} TO guest`,
    );
    const guest = await nodeOn(postgres.url.replace("postgres@", "guest@"), name);
    expect((await guest.aegis("up")).code).toBe(0);
    expect((await guest.aegis("spawn", "--handle", "ada")).code).toBe(0);
  });

  it("has a server that is too old, or a pooler that delivers no notifications", async () => {
    const old = await startRewriter(postgres.url, { server_version: "13.11" });
    onTestFinished(() => old.close());
    expect(await failure(old.url)).toMatch(/is version 13; Aegis needs 14 or newer\n.*upgrade the server/);
    const deaf = await startRewriter(postgres.url, { dropNotifications: true });
    onTestFinished(() => deaf.close());
    expect(await failure(deaf.url)).toMatch(/does not deliver notifications.*\n.*PgBouncer in transaction mode/);
  });

  it("has another time", async () => {
    const project = await nodeOn(postgres.url);
    const preload = join(project.root, "clock.mjs");
    await writeClock(preload, 3_600_000);
    project.env.NODE_OPTIONS = `--import=${preload}`;
    const { stderr } = await project.aegis("up");
    expect(stderr).toMatch(/the clock of this machine is 36\d\d s ahead of the clock of PostgreSQL.*\n.*NTP/);
    delete project.env.NODE_OPTIONS;
    expect((await project.aegis("up")).code).toBe(0);
  });

  it("has a schema that this version cannot use; one step ahead is compatible", async () => {
    const name = newProjectName();
    const project = await nodeOn(postgres.url, name);
    expect((await project.aegis("up")).code).toBe(0);
    expect((await project.aegis("down")).code).toBe(0);
    await asAdmin(`UPDATE aegis_${name}.aegis_schema SET version = version + 1`);
    expect((await project.aegis("up")).code).toBe(0);
    expect((await project.aegis("down")).code).toBe(0);
    await asAdmin(`UPDATE aegis_${name}.aegis_schema SET version = version + 1, compatible = version`);
    expect((await project.aegis("up")).stderr).toMatch(
      /the schema aegis_t_\w+ was written by a newer Aegis.*\n.*nothing was changed/,
    );
  });

  it("waits for a server that is away, and shows what it waits for, without the password", async () => {
    const project = await nodeOn(postgres.url.replace("postgres@", "postgres:correct-horse-battery@"));
    await postgres.server.pause();
    const up = project.start("up");
    try {
      await waitUntil("it says what it waits for", () =>
        /waiting for PostgreSQL at .*: connect /.test(up.output.stderr),
      );
    } finally {
      await postgres.server.resume();
    }
    expect((await up.ended).code).toBe(0);
    const state = join(project.root, ".aegis", "state");
    expect(existsSync(join(state, "aegis.db"))).toBe(false);
    const log = await readFile(join(state, "daemon.log"), "utf8");
    expect(up.output.stderr + log).not.toContain("correct-horse-battery");
  });

  it("has a database whose disk is full", async () => {
    const name = newProjectName();
    const project = await nodeOn(postgres.url, name);
    expect((await project.aegis("up")).code).toBe(0);
    expect((await project.aegis("down")).code).toBe(0);
    // Each start writes to this table before it starts anything.
    await asAdmin(
      `CREATE FUNCTION aegis_${name}.no_room() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$`,
      `CREATE TRIGGER no_room BEFORE UPDATE ON aegis_${name}.aegis_schema EXECUTE FUNCTION aegis_${name}.no_room()`,
    );
    const full = await project.aegis("up");
    expect(full.code).not.toBe(0);
    expect(full.stderr).toMatch(/the disk of PostgreSQL at .* is full.*\n.*free some space on the database server/);
    expect(await project.daemonPid()).toBe(null);
    await asAdmin(`DROP TRIGGER no_room ON aegis_${name}.aegis_schema`);
    expect((await project.aegis("up")).code).toBe(0);
  });

  it("has a database that is read-only", async () => {
    await asAdmin("CREATE DATABASE frozen", "ALTER DATABASE frozen SET default_transaction_read_only = on");
    expect(await failure(postgres.url.replace(/postgres$/, "frozen"))).toMatch(
      /is read-only\n.*default_transaction_read_only/,
    );
  });
});

async function writeClock(path: string, aheadMs: number): Promise<void> {
  await writeFile(path, `const real = Date.now.bind(Date); Date.now = () => real() + ${aheadMs};\n`);
}
