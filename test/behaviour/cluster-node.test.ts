// @module-tag slow
/** One node on PostgreSQL, driven as a user does: the built command on a database of its own. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Status } from "@aegis/contract/api.ts";
import type { RunView } from "@aegis/contract/run.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import { newestVersion } from "@aegis/store-sqlite/migrate.ts";
import { migrations } from "@aegis/store-sqlite/migrations/list.ts";
import { describe, expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { clusterFile, databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { asked, detached, effects, long, untilStatus } from "../helpers/projects/flows.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const password = "correct-horse-battery";
const files = {
  ".aegis.yaml": `
default_agent: dev
agents:
  dev: { harness: scripted, playbook: playbook.yaml }
queues:
  work: { agent: dev }
`,
  "playbook.yaml": `
rules:
  - name: hold
    when: '/^hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
  ".aegis/schedules/soon.yaml": "queue: work\npayload: from a schedule\nfire_at: 2020-01-01T00:00:00Z\n",
  ".aegis/plugins/flows.ts": long,
};

describe.skipIf(noPostgres !== null)("one node on PostgreSQL", { timeout: scaled(90_000) }, () => {
  const postgres = filePostgres();

  async function clusterProject(more: Record<string, unknown> = {}): Promise<AegisProject> {
    const project = await aegisProject({ ...files, ...clusterFile(newProjectName(), more) });
    project.env[databaseVariable] = postgres.url.replace("postgres@", `postgres:${password}@`);
    return project;
  }

  it("does everything that a node with an embedded database does, also after kill -9", async () => {
    const project = await clusterProject();
    const { aegis, json } = project;
    expect((await aegis("up")).code).toBe(0);
    expect((await aegis("spawn", "--handle", "ada", "-m", "hello")).code).toBe(0);
    expect((await aegis("send", "ada", "again", "--wait")).stdout).toContain("you said: again");
    const task = await json<{ task: TaskView }>("queue", "enqueue", "work", "a task", "--wait");
    expect(task.task).toMatchObject({ status: "completed", result: "you said: a task" });
    await waitUntil("the schedule has fired", async () => {
      const { firings } = await json<{ firings: Firing[] }>("schedule", "logs", "soon");
      return firings.length === 1 && firings[0]?.ended_at !== null;
    });
    const run = await detached(project, "long");
    const ask = await asked(project);

    process.kill((await project.daemonPid()) ?? 0, "SIGKILL");
    await waitUntil("it is gone", async () => (await project.daemonPid()) === null);
    expect((await aegis("answer", ask, "yes")).code).toBe(0);
    await untilStatus(project, run, "ok");
    expect(await effects(project)).toEqual(["first", "second"]);
    expect((await json<{ run: RunView }>("workflow", "status", run)).run.result).toBe("old yes");
    expect((await aegis("send", "ada", "once more", "--wait")).stdout).toContain("you said: once more");

    expect((await aegis("down")).code).toBe(0);
    const { sessions } = await json<{ sessions: { handle: string }[] }>("ps", "--all");
    expect(sessions.map(({ handle }) => handle)).toContain("ada");
    const history = (await aegis("history", "ada")).stdout;
    for (const text of ["hello", "again", "once more"]) expect(history).toContain(`you said: ${text}`);
    const { firings } = await json<{ firings: Firing[] }>("schedule", "logs", "soon");
    expect(firings).toHaveLength(1);

    // The embedded database is not used, and the password is nowhere.
    const state = join(project.root, ".aegis", "state");
    expect(await readdir(state)).not.toContain("aegis.db");
    const shown = [await aegis("status"), await aegis("config", "show"), await aegis("doctor"), await aegis("logs")];
    const log = await readFile(join(state, "daemon.log"), "utf8");
    expect(shown.map(({ stdout, stderr }) => stdout + stderr).join("") + log).not.toContain(password);
    expect(shown[0]?.stdout).toMatch(/store .* in PostgreSQL at .*, schema aegis_t_/);
  });

  it("is examined by status and doctor, with and without a daemon", async () => {
    const project = await clusterProject();
    const before = await project.aegis("doctor");
    expect(before.stdout).toMatch(/store +PostgreSQL 18\.\d.*round trip .* ms, clock .* ms, synchronous_commit on/);
    expect(before.stdout).toContain("the project is not in it yet");
    expect(before.stdout).toContain("fsync is off on the server");
    expect((await project.aegis("up")).code).toBe(0);
    const { store } = await project.json<Status>("status");
    expect(store).toMatchObject({ writable: true, schema: newestVersion(migrations) });
    expect(store.database).toMatchObject({ role: "postgres", synchronous_commit: "on", standby: false, fsync: false });
    expect(store.database?.connections.used).toBeGreaterThan(1);
    expect(Math.abs(store.database?.clock_difference_ms ?? 1e9)).toBeLessThan(scaled(1_000));
    expect((await project.aegis("status")).stdout).toMatch(/database +PostgreSQL 18.* of 100 connections/);
    const { checks } = await project.json<{ checks: { check: string; detail: string }[] }>("doctor");
    const [found] = checks.filter(({ check }) => check === "store");
    expect(found?.detail).toMatch(/^PostgreSQL 18.*schema version \d+, in use$/);
    project.env[databaseVariable] = "postgres://aegis@127.0.0.1:1/aegis";
    expect((await project.aegis("down")).code).toBe(0);
    const away = await project.aegis("doctor");
    expect(away.code).toBe(1);
    expect(away.stdout).toMatch(/FAIL +store +PostgreSQL at 127\.0\.0\.1:1\/aegis.*ECONNREFUSED/);
  });

  it("does not start until the user has agreed, and names the variable that is missing", async () => {
    const project = await aegisProject({ ...files, ...clusterFile("shared_name") }, { trusted: false });
    const untrusted = await project.aegis("up");
    expect(untrusted.code).toBe(2);
    expect(untrusted.stderr).toMatch(/cluster\.(database|project) of \.aegis\.yaml is not trusted here/);
    expect((await project.aegis("trust", "--yes")).code).toBe(0);
    delete project.env[databaseVariable];
    const unset = await project.aegis("up");
    expect(unset.code).toBe(2);
    expect(unset.stderr).toContain(
      `.aegis.local.yaml:2 cluster.database: the variable ${databaseVariable} is not set\n`,
    );
    project.env.AEGIS_DATABSE_URL = postgres.url;
    expect((await project.aegis("up")).stderr).toContain('is not set (did you mean "AEGIS_DATABSE_URL"?)');
    project.env[databaseVariable] = "mysql://root:topsecret1@localhost/x";
    const wrong = await project.aegis("up");
    expect(wrong.stderr).toContain(`the variable ${databaseVariable} does not hold a database URL`);
    expect(wrong.stderr).not.toContain("topsecret1");
  });

  it("refuses an address in the file itself without repeating it, and other wrong values", async () => {
    const literal = { cluster: { database: "postgres://root:topsecret1@localhost/x", lease: "10", give_up: "soon" } };
    const project = await aegisProject({ ...files, ".aegis.local.yaml": JSON.stringify(literal) });
    const { code, stderr } = await project.aegis("up");
    expect(code).toBe(2);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: how a setting refers to a variable
    expect(stderr).toContain("expected only the name of a variable, as in ${AEGIS_DATABASE_URL}");
    expect(stderr).toContain("expected a time from 1s to 10m with its unit, as in 30s, 5m or 1h");
    expect(stderr).not.toContain("topsecret1");
  });
});
