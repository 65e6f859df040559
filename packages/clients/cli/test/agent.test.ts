/** `aegis agent …` as installed: what it shows, what it writes, and that a running daemon follows the files. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AgentDetail, AgentDiagnostic, AgentSummary } from "@aegis/contract/agent.ts";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

type Listed = { agents: AgentSummary[]; diagnostics: AgentDiagnostic[] };
type Shown = { agent: AgentDetail };

it("brings agents without any configuration, on the best harness there is", async () => {
  const project = await aegisProject({});
  const { agents, diagnostics } = await project.json<Listed>("agent", "list");
  expect(diagnostics).toEqual([]);
  const names = ["default", "explorer", "planner", "implementer", "reviewer", "security-reviewer", "api-reviewer"];
  expect(agents.map((agent) => agent.slug)).toEqual(expect.arrayContaining([...names, "test-reviewer", "spec_writer"]));
  expect(agents.filter((agent) => agent.default).map((agent) => agent.slug)).toEqual(["offline"]);
  const { agent } = await project.json<Shown>("agent", "show", "explorer");
  expect(agent).toMatchObject({ source: "builtin", harness: "scripted", offline: true, permission: "read" });
  expect((await project.aegis("run", "hello", "--agent", "planner")).code).toBe(0);
});

it("shows where an agent comes from, what it hides and why it has each tool", async () => {
  const project = await aegisProject({
    ".claude/agents/x.md": "---\nname: explorer\ndescription: Mine\ntools: Read, aegis_meta, Nope\n---\nLook.\n",
  });
  const { agent } = await project.json<Shown>("agent", "show", "explorer");
  expect(agent).toMatchObject({ source: "claude", description: "Mine", prompt: "Look." });
  expect(agent.file_path).toBe(join(project.root, ".claude/agents/x.md"));
  expect(agent.candidates.map((one) => one.source)).toEqual(["claude", "builtin"]);
  const tools = Object.fromEntries(agent.tools.map((tool) => [tool.name, tool]));
  expect(tools.read).toMatchObject({ allowed: true, reason: "its tools name it (Read)" });
  expect(tools.aegis_meta).toMatchObject({ allowed: true, kind: "plane" });
  expect(tools.aegis_spawn).toMatchObject({ allowed: false, reason: "its tools do not name it" });
  expect(agent.diagnostics.map((one) => one.message)).toEqual([expect.stringContaining('"Nope"')]);
  const text = (await project.aegis("agent", "show", "explorer")).stdout;
  expect(text).toMatch(/in front of +builtin, .*explorer\.md/);
  expect(text).toMatch(/no +aegis_spawn +plane +its tools do not name it/);
  const wrong = await project.aegis("agent", "show", "explorr");
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('did you mean "explorer"?') });
});

it("writes, changes and checks files, and the daemon follows at once", { tags: "slow" }, async () => {
  const project = await aegisProject();
  await project.aegis("up");
  const made = await project.pipe(
    "Write docs: for newcomers.",
    ...["agent", "new", "docs", "--description", 'Writes "docs": all', "--tools", "read,grep", "--temperature", "0"],
    ...["--prompt", "-"],
  );
  expect(made).toMatchObject({ code: 0, stdout: "made docs (.aegis/agents/docs.md)\n" });
  const shown = async () => (await project.json<Listed>("agents")).agents.find((agent) => agent.slug === "docs");
  await waitUntil("the daemon knows it", async () => (await shown()) !== undefined);
  expect(await shown()).toMatchObject({ description: 'Writes "docs": all', source: "project", harness: "scripted" });
  expect((await project.json<Shown>("agent", "show", "docs")).agent).toMatchObject({
    temperature: 0,
    prompt: "Write docs: for newcomers.",
  });

  expect((await project.aegis("agent", "edit", "docs", "--permission", "read")).code).toBe(0);
  await waitUntil("the daemon follows", async () => (await shown())?.permission === "read");
  const text = await readFile(join(project.root, ".aegis/agents/docs.md"), "utf8");
  const [, before, after] = /created_at: (.*)\nupdated_at: (.*)\n/.exec(text) ?? [];
  expect(Date.parse(after ?? "")).toBeGreaterThan(Date.parse(before ?? ""));
  expect((await project.aegis("agent", "new", "docs", "--from", "docs")).code).toBe(1);
  expect((await project.aegis("agent", "edit", "docs", "--temperature", "9")).code).toBe(2);
  expect((await project.aegis("agent", "new", "../evil", "--from", "docs")).code).toBe(2);
  expect((await project.aegis("agent", "validate")).stdout).toContain("no problems found");

  await writeFile(join(project.root, ".aegis/agents/docs.md"), "---\nname: docs\ntools: 5\n---\nx\n");
  await waitUntil("the broken file is passed over", async () => (await shown()) === undefined);
  const { diagnostics } = await project.json<Listed>("agents");
  expect(diagnostics).toMatchObject([
    { level: "warning", agent: "docs", line: 1, message: expect.stringContaining("description: expected") },
    { level: "error", agent: "docs", line: 3, message: expect.stringContaining("tools: expected a list") },
  ]);
  const checked = await project.aegis("agent", "validate");
  expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining(".aegis/agents/docs.md:3: error: tools:") });
});

it("follows the user's own folder, also when it is made later, and reveals what a removed agent hid", async () => {
  const project = await aegisProject();
  await project.aegis("up");
  const source = async () => (await project.json<Shown>("agent", "show", "explorer")).agent.source;
  expect(await source()).toBe("builtin");
  const mine = join(project.env.HOME ?? "", ".aegis/agents/explorer.md");
  await mkdir(dirname(mine), { recursive: true });
  await writeFile(mine, "---\nname: explorer\ndescription: Mine\n---\nLook.\n");
  await waitUntil("the user's agent goes first", async () => (await source()) === "user");
  await rm(mine);
  await waitUntil("the built-in one is back", async () => (await source()) === "builtin");
});

it("lets the configuration name agents that only have a file", async () => {
  const project = await aegisProject({
    ".aegis.yaml": "default_agent: mine\nagents:\n  dev: { harness: scripted }\nqueues:\n  q: { agent: reviewer }\n",
    ".aegis/agents/mine.md": "---\nname: mine\ndescription: d\n---\nx\n",
  });
  const { agents } = await project.json<Listed>("agents");
  expect(agents.find((agent) => agent.default)).toMatchObject({ slug: "mine", harness: "scripted" });
  expect(await project.json("status")).toMatchObject({ default_agent: "mine", offline: true });
  expect((await project.aegis("config", "show")).code).toBe(0);
  const wrong = await project.aegis("config", "set", "queues.q.agent", "reviwer");
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean "reviewer"?') });
});

it("says which file is broken when the default agent is missing for that", async () => {
  const project = await aegisProject({
    ".aegis.yaml": "default_agent: mine\nagents:\n  dev: { harness: scripted }\n",
    ".aegis/agents/mine.md": "---\nname: mine\ndescription: d\ntools: 5\n---\nx\n",
  });
  const { code, stderr } = await project.aegis("agents");
  expect(code).not.toBe(0);
  expect(stderr).toContain('found "mine"');
  expect(stderr).toContain("mine.md:4: tools: expected a list of names");
});

it("copies an agent of a plugin, and extends one with a single field changed", { tags: "slow" }, async () => {
  const project = await aegisProject({
    ".aegis/plugins/db/plugin.json": JSON.stringify({
      name: "db",
      agents: [{ name: "dba", description: "Keeps the data", system_prompt_file: "dba.md", tools: ["read", "grep"] }],
    }),
    ".aegis/plugins/db/dba.md": "---\nmodel: claude-3-5-sonnet-20241022\n---\nYou keep the database.\n",
  });
  await project.aegis("trust", "--yes");
  expect(await project.aegis("agent", "new", "mine", "--from", "db:dba")).toMatchObject({ code: 0 });
  const text = await readFile(join(project.root, ".aegis/agents/mine.md"), "utf8");
  for (const part of ["name: mine", "Keeps the data", "grep", "You keep the database.", "claude-3-5-sonnet-20241022"])
    expect(text).toContain(part);
  expect(text).not.toContain("harness");

  await writeFile(join(project.root, ".aegis/agents/dba.md"), "---\nextends: db:dba\npermission: read\n---\n");
  const shown = async () => (await project.json<Shown>("agent", "show", "dba")).agent;
  await waitUntil("the daemon knows it", async () => (await shown()).source === "project");
  expect(await shown()).toMatchObject({
    extends: "db:dba",
    description: "Keeps the data",
    prompt: "You keep the database.",
    permission: "read",
    declared: { tools: null, permission: "read" },
  });
  const allowed = (await shown()).tools.filter((tool) => tool.allowed).map((tool) => tool.name);
  expect(allowed).toEqual(["read", "grep"]);

  await writeFile(join(project.root, ".aegis/agents/dba.md"), "---\nextends: db:dbx\n---\n");
  await waitUntil("the daemon follows", async () => (await shown()).extends === "db:dbx");
  expect(await project.aegis("run", "hello", "--agent", "dba")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('it extends "db:dbx", which does not exist (did you mean "db:dba"?)'),
  });
});

it("reads agents in folders below, and says why a file is none", async () => {
  const project = await aegisProject({
    ".claude/agents/README.md": "# Our agents\n\nSee each file.\n",
    ".claude/agents/web/Front End.md": "---\nname: Front End (React)\ndescription: Use it so: always\n---\nBuild.\n",
    ".claude/agents/web/loose.md": "---\nname: loose\ndescription: d\ntools: [read\n---\nx\n",
    ".claude/agents/1/2/3/4/5/6/7/deep.md": "---\nname: deep\ndescription: d\n---\nx\n",
  });
  const { agents, diagnostics } = await project.json<Listed>("agent", "list");
  const names = agents.map((agent) => agent.slug);
  expect(names).toContain("front-end-react");
  for (const name of ["loose", "deep", "readme"]) expect(names).not.toContain(name);
  const told = diagnostics.map(
    ({ level, file, message }) => `${level} ${file?.slice(project.root.length + 1)}: ${message}`,
  );
  expect(told).toEqual([
    expect.stringMatching(/^warning \.claude\/agents\/1\/2\/3\/4\/5\/6\/7: is not read: .* 6 folders deep/),
    expect.stringMatching(/^warning .*Front End\.md: expected quotes/),
    expect.stringMatching(/^warning .*Front End\.md: name: .* taken as front-end-react/),
    expect.stringMatching(/^error .*loose\.md: looks like a list .* must not be guessed/),
  ]);
});
