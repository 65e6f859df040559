// @module-tag slow
/** `aegis init --force` in a project whose sessions are in the database of its cluster. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type AegisProject, aegisProject, offlineConfig } from "../helpers/aegis.ts";
import { databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { scaled } from "../helpers/slowness.ts";

type Config = { agents: Record<string, object>; cluster?: object };

describe.skipIf(noPostgres !== null)("init in a cluster", { timeout: scaled(90_000) }, () => {
  const postgres = filePostgres();

  async function clusterProject(): Promise<AegisProject & { cluster: object; config: () => Promise<Config> }> {
    const cluster = { database: `\${${databaseVariable}}`, project: newProjectName() };
    const text = `${offlineConfig}\ncluster: ${JSON.stringify(cluster)}\n`;
    const project = await aegisProject({ ".aegis.yaml": text, ".aegis.local.yaml": "messages: { max_hops: 9 }\n" });
    project.env[databaseVariable] = postgres.url;
    const config = async () => parse(await readFile(join(project.root, ".aegis.yaml"), "utf8")) as Config;
    return { ...project, cluster, config };
  }

  it("keeps the agents of sessions in the database and the cluster section", async () => {
    const { aegis, json, cluster, config } = await clusterProject();
    expect((await aegis("spawn", "helper", "--handle", "ada")).code).toBe(0);
    const up = await json<{ notes: string[]; more_agents: object[] }>("init", "--yes", "--force");
    expect(up.more_agents).toEqual([{ slug: "helper", role: "kept" }]);
    expect(up.notes).toContainEqual(expect.stringContaining("the agent helper was kept"));
    expect(up.notes).toContainEqual(expect.stringContaining("the cluster section was kept"));
    expect((await config()).cluster).toEqual(cluster);
    expect((await aegis("down")).code).toBe(0);
    expect((await aegis("init", "--yes", "--force")).stdout).toContain("the agent helper was kept");
    expect((await aegis("send", "ada", "hello", "--wait")).code).toBe(0);
  });

  it("changes nothing while the database cannot be asked", async () => {
    const { root, env, aegis, config } = await clusterProject();
    const before = await config();
    env[databaseVariable] = "postgres://aegis@127.0.0.1:1/nowhere";
    const away = await aegis("init", "--yes", "--force");
    expect(away.code).not.toBe(0);
    expect(away.stderr).toMatch(
      /nothing was written: the open sessions cannot be read: .*127\.0\.0\.1:1.*ECONNREFUSED/,
    );
    expect(await config()).toEqual(before);
    await writeFile(join(root, ".aegis.yaml"), "agents: [this is not a map\ncluster: {}\n");
    const broken = await aegis("init", "--yes", "--force");
    expect(broken.code).not.toBe(0);
    expect(broken.stderr).toContain("has a cluster section and is not valid YAML");
    expect(await readFile(join(root, ".aegis.yaml"), "utf8")).toContain("this is not a map");
  });
});
