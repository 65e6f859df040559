// @module-tag slow
/** A project on the embedded database loads neither the PostgreSQL driver nor the code that uses it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { clusterFile, databaseVariable, newProjectName, noPostgres } from "../helpers/cluster.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { obedient, testProject } from "../helpers/project.ts";
import { createSession, talk } from "../helpers/talk.ts";

const preload = pathToFileURL(join(import.meta.dirname, "log-modules.ts")).href;
const driver = /\/node_modules\/pg\//;

async function loadedModules(files: Record<string, string>, env: Record<string, string>): Promise<string[]> {
  const project = await testProject({ ...obedient, ...files });
  const file = join(project.dir, "..", "modules");
  const daemon = await project.start({
    env: { ...env, NODE_OPTIONS: `--import=${preload}`, LOG_MODULES: file },
  });
  const { id } = await createSession(daemon.client);
  expect(await talk(daemon.client, id, "hello")).toBe("you said: hello");
  await daemon.client.call("status");
  await daemon.kill();
  return (await readFile(file, "utf8")).trim().split("\n");
}

describe.skipIf(noPostgres !== null)("the PostgreSQL driver", () => {
  const postgres = filePostgres();

  it("is loaded only with a cluster section", async () => {
    const embedded = await loadedModules({ ".aegis.local.yaml": "{}\n" }, {});
    expect(embedded.length).toBeGreaterThan(10);
    expect(embedded.filter((url) => driver.test(url))).toEqual([]);
    const clustered = await loadedModules(clusterFile(newProjectName()), { [databaseVariable]: postgres.url });
    expect(clustered.some((url) => driver.test(url))).toBe(true);
    // The chunks of the build that only a cluster needs.
    const only = clustered.filter((url) => url.includes("/dist/") && !embedded.includes(url));
    expect(only.length).toBeGreaterThan(0);
  });
});
