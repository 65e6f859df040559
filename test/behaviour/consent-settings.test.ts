/** Settings that a folder brings reach nothing before its user agrees. */
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { revokeTrust } from "@aegis/project/trust/agree.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { enqueued, over } from "../helpers/projects/checked.ts";
import { type Answer, agreedProject, changed, clientOf, playbook, put } from "../helpers/projects/consent.ts";
import { waitUntil } from "../helpers/wait-until.ts";

it("does not say a command page that changed", { tags: "slow" }, async () => {
  const project = await agreedProject({
    ".aegis.yaml": "agents:\n  dev: { harness: scripted }\n",
    ".aegis/commands/go.md": "say what was agreed\n",
  });
  expect((await project.aegis("run", "/go")).code).toBe(0);
  await put(project, ".aegis/commands/go.md", "say something else\n");
  const refused = await project.aegis("run", "/go");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toMatch(/changed since/);
  expect(refused.stderr).toContain("aegis trust");
});

it("does not start a plugin's program that changed while its plugin is loaded", { tags: "slow" }, async () => {
  const program = (name: string) => `#!/bin/sh\ntouch "$HOME/${name}"\necho '{"ok":true}'\n`;
  const project = await agreedProject({
    ".aegis.yaml": `agents:
  dev: { harness: scripted, permission: full, playbook: play.yaml }
`,
    "play.yaml": `rules:
  - { name: all, when: always, steps: [{ tool: probe_it, input: {}, save: out }, { say: "{out}" }] }
`,
    ".aegis/plugins/tools/plugin.toml": `[plugin]
name = "tools"
version = "1.0.0"
[[tools]]
name = "probe_it"
description = "Leaves a mark"
command = "./bin/probe"
`,
    ".aegis/plugins/tools/bin/probe": program("first"),
  });
  const bin = ".aegis/plugins/tools/bin/probe";
  await chmod(join(project.root, bin), 0o755);
  await project.aegis("trust", "--yes");
  const mark = (name: string) => join(project.env.HOME ?? "", name);
  await waitUntil("the plugin is loaded", async () => {
    const { plugins } = await project.json<{ plugins: { status: string }[] }>("plugin", "list");
    return plugins.every((plugin) => plugin.status === "loaded");
  });
  const before = await project.json<Answer>("run", "hello");
  expect(before.text).toContain("ok");
  expect(existsSync(mark("first"))).toBe(true);
  await put(project, bin, program("second"));
  await chmod(join(project.root, bin), 0o755);
  await project.aegis("run", "hello");
  expect(existsSync(mark("second"))).toBe(false);
});

it("runs no setting of a workflow that reaches a shell before its user agrees, nor one that changed", {
  tags: "slow",
}, async () => {
  const config = (check: string) => `default_agent: dev
agents:
  dev: { harness: scripted, permission: write }
workflows:
  execute_plan: { default_subagent_profile: dev, check: "${check}" }
  tdd_cycle: { implementer: dev, reviewer: dev, test_command: "touch tested" }
`;
  const files = { ".aegis.yaml": config("touch checked"), "plan.md": "## Slice 1 — one\n\nDo it.\n" };
  const project = await aegisProject(files, { trusted: false });
  const { aegis, root } = project;
  expect((await aegis("trust", "--list")).stdout).toMatch(/untrusted +settings workflows\.execute_plan/);
  const plan = ["workflow", "run", "execute_plan", "--plan-path", "plan.md"];
  for (const args of [plan, ["workflow", "run", "tdd_cycle", "--feature", "x", "--test-path", "t"]]) {
    const refused = await aegis(...args);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/settings workflows\.\w+ of \.aegis\.yaml is not trusted here: .*touch/);
    expect(refused.stderr).toContain("aegis trust");
  }
  await aegis("trust", "--yes");
  const ran = await aegis(...plan);
  expect(ran.code, ran.stderr).toBe(0);
  expect(existsSync(join(root, "checked"))).toBe(true);
  await put(project, ".aegis.yaml", config("touch evil"));
  await waitUntil("the daemon has the changed file", async () =>
    (await aegis("status")).stdout.includes("workflows.execute_plan"),
  );
  expect((await aegis(...plan)).stderr).toMatch(changed);
  expect(existsSync(join(root, "evil"))).toBe(false);
  expect(await readFile(join(root, ".aegis.yaml"), "utf8")).toContain("evil");
});

it("gives a plugin of the user's own no settings that a stranger's folder brings, until its user agrees", {
  tags: "slow",
}, async () => {
  const project = await aegisProject(
    {
      ".aegis.yaml":
        "agents:\n  dev: { harness: scripted }\nplugins:\n  mine: { base_url: https://elsewhere.example }\n",
    },
    { trusted: false },
  );
  const { aegis, json, env } = project;
  const home = env.HOME ?? "";
  await mkdir(join(home, ".aegis/plugins/mine"), { recursive: true });
  await writeFile(join(home, ".aegis/plugins/mine/plugin.toml"), '[plugin]\nname = "mine"\nversion = "1.0.0"\n');
  await writeFile(
    join(home, ".aegis/plugins/mine/main.ts"),
    'import { writeFileSync } from "node:fs";\nexport default (api) => writeFileSync(process.env.HOME + "/set", JSON.stringify(api.config));\n',
  );
  await aegis("up");
  const status = async () => (await json<{ plugins: { status: string; reason: string }[] }>("plugin", "list")).plugins;
  expect(await status()).toMatchObject([
    { status: "untrusted", reason: expect.stringMatching(/settings plugins\.mine of \.aegis\.yaml is not trusted/) },
  ]);
  expect((await aegis("trust", "--list")).stdout).toMatch(/settings plugins\.mine[\s\S]*https:\/\/elsewhere\.example/);
  await aegis("trust", "--yes");
  await waitUntil("the plugin is loaded", async () => (await status())[0]?.status === "loaded");
});

it("stops using what its user takes back, in a session that is open", { tags: "slow" }, async () => {
  const project = await agreedProject({
    ".aegis.yaml": "agents:\n  dev: { harness: scripted, playbook: play.yaml }\n",
    "play.yaml": playbook("as agreed"),
  });
  const { aegis, json } = project;
  await aegis("run", "--keep", "hello");
  const [session] = (await json<{ sessions: { handle: string }[] }>("ps")).sessions;
  expect((await aegis("trust", "--revoke")).code).toBe(0);
  const refused = await aegis("send", session?.handle ?? "", "hello", "--wait");
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("is not trusted here");
});

it("does not run the check of a queue before its user agrees, and fails a task whose check lost that trust", {
  tags: "slow",
}, async () => {
  const config =
    "agents:\n  dev: { harness: scripted, permission: write }\nqueues:\n  fixes: { agent: dev, check: echo ran >> runs }\n";
  const project = await aegisProject({ ".aegis.yaml": config }, { trusted: false });
  const { aegis, root, env } = project;
  const runs = async () => (await readFile(join(root, "runs"), "utf8").catch(() => "")).split("\n").length - 1;
  await aegis("up");
  const client = await clientOf(project);
  const fix = async () => over(client, await enqueued(client, "fixes", { payload: "hello" }));
  expect(await fix()).toMatchObject({ status: "completed", verified: false, check: null, receipt: null });
  expect((await aegis("task", "list")).stdout).toContain("completed (unverified)");
  expect((await aegis("trust", "--list")).stdout).toMatch(/untrusted +settings queues\.fixes\.check/);
  expect(await runs()).toBe(0);
  expect((await aegis("trust", "--yes")).code).toBe(0);
  const check = "echo ran >> runs";
  expect(await fix()).toMatchObject({ status: "completed", verified: true, check, receipt: { state: "passed" } });
  expect(await runs()).toBe(1);
  // A loaded check is judged when it runs. Settings that cannot be read keep the daemon from loading them without it.
  const problems = async () => (await client.call("config")).problems.length;
  await put(project, ".aegis.yaml", `${config}unknown: true\n`);
  await waitUntil("the daemon has refused the file", async () => (await problems()) > 0);
  expect(await revokeTrust({ root, env })).toBe(true);
  const failed = await fix();
  expect(failed).toMatchObject({ status: "failed", verified: false, check, receipt: { state: "refused", exit: null } });
  expect(failed.error).toMatch(/^the check `echo ran >> runs` was not run: .*is not trusted here/);
  await put(project, ".aegis.yaml", config);
  expect((await aegis("trust", "--yes")).code).toBe(0);
  expect((await aegis("trust", "--revoke")).code).toBe(0);
  expect(await fix()).toMatchObject({ status: "completed", verified: false, check: null, receipt: null });
  expect(await runs()).toBe(1);
});

it.each(["", "."])("does not take the folder for the user's own if HOME is %j", async (home) => {
  const code =
    'import { tool } from "aegis";\nexport const t = tool({ description: "d", permission: "read" }, () => "x");\n';
  const project = await aegisProject({ ".aegis/plugins/evil.ts": code }, { trusted: false });
  project.env.HOME = home;
  const { stdout } = await project.aegis("trust", "--list");
  expect(stdout).toMatch(/untrusted +plugin evil/);
});
