/** Secrets in settings: taken from the environment by name, or kept in the file that is private to this machine. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables look like placeholders of templates
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PluginDetail } from "@aegis/contract/plugin.ts";
import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { testsUsePostgres } from "@aegis/test/helpers/cluster.ts";
import { describe, expect, it } from "vitest";

const secret = "hunter2-is-the-deploy-key";
const manifest = `[plugin]
name = "house"
version = "0.1.0"
description = "Knocks."
[config_schema.door]
type = "string"
secret = true
[config_schema.url]
type = "string"
`;
const code = `import { command } from "aegis";
export const knock = command({ name: "knock", description: "Says its settings" }, (_, { config }) =>
  "url " + config.url.length + " door " + config.door.split("").reverse().join(""),
);
`;
const house = { ".aegis/plugins/house/plugin.toml": manifest, ".aegis/plugins/house/main.ts": code };
const reversed = [...secret].reverse().join("");

describe("config set", () => {
  it("writes a secret to the local file, which its owner alone can read and git ignores, and says so", async () => {
    const { root, aegis } = await aegisProject({ ".aegis.yaml": offlineConfig, ...house });
    await mkdir(join(root, ".git"));
    for (const key of ["plugins.house.door", "plugins.house.api_token", "agents.dev.env.DEPLOY_KEY"]) {
      const set = await aegis("config", "set", key, secret);
      expect(set).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`${key}: a secret, so it was written to .aegis.local.yaml`),
      });
    }
    expect(await readFile(join(root, ".aegis.yaml"), "utf8")).not.toContain(secret);
    const local = join(root, ".aegis.local.yaml");
    expect((await readFile(local, "utf8")).split(secret)).toHaveLength(4);
    expect((await stat(local)).mode & 0o777).toBe(0o600);
    expect(await readFile(join(root, ".gitignore"), "utf8")).toContain(".aegis.local.yaml");
    expect((await aegis("config", "show")).stdout).not.toContain(secret);
  });

  it("also finds a secret inside a map, and closes a local file that others could read", async () => {
    const { root, aegis } = await aegisProject({
      ".aegis.yaml": offlineConfig,
      ".aegis.local.yaml": "server: { port: 0 }\n",
    });
    await aegis("config", "set", "agents.dev.env", `{ CI: "1", DEPLOY_KEY: ${secret} }`);
    expect(await readFile(join(root, ".aegis.yaml"), "utf8")).toBe(offlineConfig);
    expect((await stat(join(root, ".aegis.local.yaml"))).mode & 0o777).toBe(0o600);
  });

  // Not on PostgreSQL: it needs a project without a local file.
  it.skipIf(testsUsePostgres)("writes everything else, also the name of a variable, to the shared file", async () => {
    const { root, aegis } = await aegisProject({ ".aegis.yaml": offlineConfig, ...house });
    await aegis("config", "set", "plugins.house.url", "https://example.org");
    await aegis("config", "set", "plugins.house.door", "${DEPLOY}");
    await aegis("config", "set", "plugins.house.key_env", "DEPLOY");
    const shared = await readFile(join(root, ".aegis.yaml"), "utf8");
    expect(shared).toContain("https://example.org");
    expect(shared).toContain("${DEPLOY}");
    await expect(stat(join(root, ".aegis.local.yaml"))).rejects.toThrow("ENOENT");
  });

  it("tells of a value that stays in a shared file", async () => {
    const config = `${offlineConfig}plugins: { house: { door: old-door-key } }\n`;
    const { aegis } = await aegisProject({ ".aegis.yaml": config, ...house });
    const { stderr } = await aegis("config", "set", "plugins.house.door", secret);
    expect(stderr).toContain(".aegis.yaml also has a value for plugins.house.door");
  });
});

const withVariables = `default_agent: dev
agents:
  dev: { harness: scripted }
  outer: { harness: acp, command: [node, agent.mjs], env: { FRONT: "x-\${DEPLOY}" } }
plugins:
  house:
    url: "https://example.org/\${DEPLOY}"
    door: \${DEPLOY}
`;
const agent = `import { writeFileSync } from "node:fs";
writeFileSync("seen", process.env.FRONT + " " + (process.env.DEPLOY ?? "none"));
`;
const project = { ".aegis.yaml": withVariables, "agent.mjs": agent, ...house };

describe("a variable by its name", () => {
  it("reaches the agent's process and the plugin; its value is shown nowhere", { tags: "slow" }, async () => {
    const { root, env, aegis, json } = await aegisProject(project);
    env.DEPLOY = secret;
    await aegis("run", "--agent", "outer", "hello");
    expect(await readFile(join(root, "seen"), "utf8")).toBe(`x-${secret} none`);
    const knocked = await aegis("run", "/knock");
    expect(knocked.stdout).toContain(`url ${"https://example.org/".length + secret.length} door ${reversed}`);
    const { plugin } = await json<{ plugin: PluginDetail }>("plugin", "show", "house");
    expect(plugin.settings.map(({ key, value }) => [key, value])).toEqual([
      ["door", "${DEPLOY}"],
      ["url", "https://example.org/${DEPLOY}"],
    ]);
    const said = await aegis("run", `hello ${secret}`);
    expect(said.stdout + said.stderr).not.toContain(secret);
    for (const shown of [await aegis("config", "show"), await aegis("config", "get", "plugins.house.door")]) {
      expect(shown.stdout).not.toContain(secret);
      expect(shown.stdout).toContain("${DEPLOY}");
    }
  });

  it("that is not set keeps that agent and that plugin from starting, and says which and where", async () => {
    const { aegis, json } = await aegisProject(project);
    expect((await aegis("run", "hello")).code).toBe(0);
    const refused = await aegis("run", "--agent", "outer", "hello");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/\.aegis\.yaml:4: agents\.outer\.env\.FRONT: the variable DEPLOY is not set/);
    const { plugin } = await json<{ plugin: PluginDetail }>("plugin", "show", "house");
    expect(plugin).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/\.aegis\.yaml:7: plugins\.house\.url: the variable DEPLOY is not set/),
    });
    expect((await aegis("agents")).stderr).toMatch(/\.aegis\.yaml:4.*DEPLOY/);
  });

  it("written wrongly is a mistake of the configuration", async () => {
    const { aegis, root } = await aegisProject(project);
    await writeFile(join(root, ".aegis.yaml"), withVariables.replace("x-${DEPLOY}", "${DEPLOY:-none}"));
    const { code: exit, stderr } = await aegis("config", "show");
    expect(exit).not.toBe(0);
    expect(stderr).toMatch(/\.aegis\.yaml:4:\d+ agents\.outer\.env\.FRONT: expected the name of a variable/);
  });

  it("is withheld until the user has agreed, and the list says which variables go where", {
    tags: "slow",
  }, async () => {
    const { root, env, aegis, json } = await aegisProject(project, { trusted: false });
    env.DEPLOY = secret;
    const { stdout } = await aegis("trust", "--list");
    expect(stdout).toContain("gives it DEPLOY of your environment");
    expect(stdout).toMatch(/settings plugins\.house.*\n.*gives it DEPLOY of your environment/);
    expect(stdout).not.toContain(secret);
    await aegis("plugin", "trust", "house", "--yes");
    const status = async () => (await json<{ plugin: PluginDetail }>("plugin", "show", "house")).plugin;
    expect(await status()).toMatchObject({
      status: "untrusted",
      reason: expect.stringContaining("is not trusted here"),
    });
    await aegis("trust", "--yes");
    expect(await status()).toMatchObject({ status: "loaded" });
    await writeFile(join(root, ".aegis.yaml"), withVariables.replace("door: ${DEPLOY}", "door: ${PATH}"));
    expect((await aegis("trust", "--list")).stdout).toMatch(/plugins\.house.*changed|changed.*plugins\.house/);
  });
});
