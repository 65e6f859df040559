// @module-tag slow
/** A node that was fenced joins again by itself, however long what stands in its way lasts, and ends only if it must. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { NodeView } from "@aegis/contract/node.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { aegisProject, offlineConfig } from "../helpers/aegis.ts";
import { clusterFile, databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, startNodes } from "../helpers/nodes.ts";
import { isRunning } from "../helpers/pids.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

describe.skipIf(noPostgres !== null)("a fenced node", { timeout: scaled(90_000) }, () => {
  const postgres = filePostgres();
  const { asAdmin } = postgres;

  /** The process of the node is ended with the test, also while it does not answer. */
  async function startOne(name: string): Promise<ClusterNode & { pid: number; log: () => Promise<string> }> {
    const [node] = await startNodes(postgres.url, { ".aegis.yaml": offlineConfig }, ["one"], { project: name });
    if (node === undefined) throw new Error("no node");
    const pid = (await node.daemonPid()) ?? 0;
    onTestFinished(() => {
      if (isRunning(pid)) process.kill(pid, "SIGKILL");
    });
    return { ...node, pid, log: () => readFile(join(node.root, ".aegis", "state", "daemon.log"), "utf8") };
  }

  const fence = (name: string) => asAdmin(`UPDATE aegis_${name}.nodes SET alive = 0 WHERE name = 'one'`);

  async function isBack({ json, daemonPid, pid }: Awaited<ReturnType<typeof startOne>>): Promise<boolean> {
    if ((await daemonPid()) !== pid) return false;
    const { nodes } = await json<{ nodes: NodeView[] }>("nodes");
    return nodes.some(({ state, incarnation }) => state === "up" && incarnation > 1);
  }

  it("joins again once its database has room", async () => {
    const name = newProjectName();
    const node = await startOne(name);
    await asAdmin(
      `CREATE FUNCTION aegis_${name}.no_room() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$`,
      `CREATE TRIGGER no_room BEFORE UPDATE ON aegis_${name}.aegis_schema EXECUTE FUNCTION aegis_${name}.no_room()`,
    );
    await fence(name);
    // Each attempt first waits 20 s for the server, as every start does.
    await waitUntil(
      "it says what it waits for",
      async () => /cannot join again yet: the disk of PostgreSQL at .* is full/.test(await node.log()),
      40_000,
    );
    expect(isRunning(node.pid)).toBe(true);
    await asAdmin(`DROP TRIGGER no_room ON aegis_${name}.aegis_schema`);
    await waitUntil("it is back", () => isBack(node));
    expect((await node.aegis("spawn", "--handle", "ada", "-m", "hello")).code).toBe(0);
  });

  it("joins again once its settings are valid", async () => {
    const name = newProjectName();
    const node = await startOne(name);
    const config = join(node.root, ".aegis.yaml");
    await writeFile(config, `${offlineConfig}queues: 5\n`);
    await fence(name);
    await waitUntil("it says what it waits for", async () => /cannot join again yet: .*queues/s.test(await node.log()));
    await writeFile(config, offlineConfig);
    await waitUntil("it is back", () => isBack(node));
  });

  it("ends if another node has got its name, and says so", async () => {
    const name = newProjectName();
    const node = await startOne(name);
    const other = await aegisProject({ ".aegis.yaml": offlineConfig, ...clusterFile(name, { node: "one" }) });
    other.env[databaseVariable] = postgres.url;
    process.kill(node.pid, "SIGSTOP");
    await asAdmin(`UPDATE aegis_${name}.nodes SET alive = 0 WHERE name = 'one'`);
    expect((await other.aegis("up")).code).toBe(0);
    process.kill(node.pid, "SIGCONT");
    await waitUntil("it has ended", () => !isRunning(node.pid));
    expect(await node.log()).toMatch(/aegis: a node "one" is alive in this cluster\n.*cluster\.node/);
    expect(await other.daemonPid()).not.toBe(null);
  });
});
