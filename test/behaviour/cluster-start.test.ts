// @module-tag slow
/** A node checks its database before it starts anything, says what is wrong and how to correct it. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startRewriter } from "../../packages/base/store-postgres/test/postgres-rewriter.ts";
import { type AegisProject, aegisProject, offlineConfig } from "../helpers/aegis.ts";
import { clusterFile, databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

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
      /the role modest may not create the schema \S+ in the database postgres\n.*GRANT CREATE ON DATABASE postgres TO modest/,
    );
  });

  /** A project that a node has used, and whose nodes are stopped. */
  async function usedProject(): Promise<string> {
    const name = newProjectName();
    const project = await nodeOn(postgres.url, name);
    expect((await project.aegis("up")).code).toBe(0);
    expect((await project.aegis("down")).code).toBe(0);
    return name;
  }

  it("may not use the tables that another role owns", async () => {
    const name = await usedProject();
    const url = postgres.url.replace("postgres@", "guest@");
    await asAdmin("CREATE ROLE guest LOGIN");
    expect(await failure(url, name)).toMatch(
      /the role guest may not use the schema aegis_t_\w+\n.*GRANT USAGE ON SCHEMA aegis_t_\w+ TO guest; GRANT SELECT/,
    );
    await asAdmin(`GRANT USAGE ON SCHEMA aegis_${name} TO guest`);
    expect(await failure(url, name)).toMatch(
      /the role guest may not use the table aegis_t_\w+\.aegis_schema\n.*GRANT SELECT, INSERT/,
    );
    await asAdmin(`GRANT SELECT, INSERT, UPDATE, DELETE ON aegis_${name}.aegis_schema TO guest`);
    const lacking = /the role guest may not use the table aegis_t_\w+\.asks\n.*GRANT SELECT, INSERT/;
    expect(await failure(url, name)).toMatch(lacking);
    expect((await (await nodeOn(url, name)).aegis("doctor")).stdout).toMatch(lacking);
    await asAdmin(
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA aegis_${name} TO guest`,
      `GRANT USAGE ON ALL SEQUENCES IN SCHEMA aegis_${name} TO guest`,
    );
    const guest = await nodeOn(postgres.url.replace("postgres@", "guest@"), name);
    expect((await guest.aegis("up")).code).toBe(0);
    expect((await guest.aegis("spawn", "--handle", "ada")).code).toBe(0);
  });

  it("may not connect, may not migrate, or has too few connections", async () => {
    const name = await usedProject();
    const url = postgres.url.replace("postgres@", "limited@").replace(/postgres$/, "narrow");
    await asAdmin(
      "CREATE ROLE limited LOGIN",
      "CREATE DATABASE narrow",
      "REVOKE CONNECT ON DATABASE narrow FROM PUBLIC",
    );
    expect(await failure(url)).toMatch(/permission denied for database.*\n.*grant the role CONNECT on the database/);
    await asAdmin("GRANT CONNECT ON DATABASE narrow TO limited", "ALTER ROLE limited CONNECTION LIMIT 6");
    const few = /allows the role limited 6 connections; a node needs 7\n.*ALTER ROLE limited CONNECTION LIMIT -1/;
    expect(await failure(url)).toMatch(few);
    expect((await (await nodeOn(url)).aegis("doctor")).stdout).toMatch(few);
    await asAdmin("ALTER ROLE limited CONNECTION LIMIT -1", "ALTER DATABASE narrow CONNECTION LIMIT 2");
    expect(await failure(url)).toMatch(/allows the database narrow 2 connections; a node needs 7\n.*ALTER DATABASE/);
    await asAdmin(
      `GRANT USAGE ON SCHEMA aegis_${name} TO limited`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA aegis_${name} TO limited`,
      `UPDATE aegis_${name}.aegis_schema SET version = version - 1`,
    );
    expect(await failure(postgres.url.replace("postgres@", "limited@"), name)).toMatch(
      /the role limited may not migrate the schema.*\n.*start the first node of this version with the role postgres/,
    );
  });

  it("has a URL that is written wrongly, which no message repeats", async () => {
    const secret = "correct-horse-battery";
    const wrong: [url: string, said: RegExp][] = [
      [`mysql://aegis:${secret}@db/aegis`, /does not hold a database URL: it starts with mysql:\/\//],
      [`db:5432/aegis?password=${secret}`, /it does not start with postgres:\/\/\n/],
      [`postgres://aegis:${secret}/x@db/aegis`, /its host or its port cannot be read\n.*\/ as %2F/],
      [
        `postgres://aegis:${secret}@db/aegis?ssl_mode=verify-full`,
        /unknown parameter ssl_mode \(did you mean "sslmode"/,
      ],
      [
        `postgres://aegis:${secret}@db/aegis?sslmode=verify-ful`,
        /sslmode is "verify-ful" \(did you mean "verify-full"/,
      ],
      [
        `${postgres.url}?sslmode=verify-full&sslrootcert=/no/ca.pem`,
        /open '\/no\/ca\.pem'\n.*correct the path in sslroot/,
      ],
    ];
    const project = await nodeOn("");
    for (const [url, said] of wrong) {
      project.env[databaseVariable] = url;
      const { code, stderr } = await project.aegis("up");
      expect(code).not.toBe(0);
      expect(stderr).toMatch(said);
      expect(stderr).not.toContain("waiting for");
      if (!url.includes("sslrootcert")) expect(stderr).toMatch(/^ {2}\.aegis\.local\.yaml:2 cluster\.database: /m);
      expect(stderr).not.toContain(secret);
    }
    const log = await readFile(join(project.root, ".aegis", "state", "daemon.log"), "utf8");
    expect(log).not.toContain(secret);
  });

  it("lacks the driver", async () => {
    const project = await nodeOn(postgres.url);
    const preload = join(project.root, "no-driver.mjs");
    await writeFile(
      preload,
      `import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) {
        if (name === "pg") throw new Error("Cannot find package 'pg'");
        return next(name, context);
      } });`,
    );
    project.env.NODE_OPTIONS = `--import=${preload}`;
    const { code, stderr } = await project.aegis("up");
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/the package "pg" is not installed\n.*install it beside aegis: npm install pg/);
  });

  it("has a schema whose version is gone", async () => {
    const name = await usedProject();
    await asAdmin(`DELETE FROM aegis_${name}.aegis_schema`);
    expect(await failure(postgres.url, name)).toMatch(/its table aegis_schema holds no version\n.*from a backup/);
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
