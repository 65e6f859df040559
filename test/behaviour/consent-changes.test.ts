/** Consent is lost only when code changes, every refusal names what changed, and each way out that it names works. */
import { execFile } from "node:child_process";
import { appendFile, chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { initGit } from "../helpers/git-project.ts";
import { fixture } from "../helpers/pids.ts";
import { agreedProject, ask, changed, put, refusal, stateOf } from "../helpers/projects/consent.ts";
import { scaled } from "../helpers/slowness.ts";

const agent = `[${process.execPath}, ${fixture("acp-agent.mjs")}]`;
const run = promisify(execFile);
/** The fixture runs, and knows no greeting. */
const started = { error: { message: expect.stringContaining("the fixture cannot") } };

it("keeps the consent while data changes, and names the file when code does", {
  tags: "slow",
  timeout: scaled(90_000),
}, async () => {
  const project = await agreedProject({
    ".aegis.yaml": `default_agent: quiet
agents:
  quiet: { harness: scripted }
  data: { harness: acp, command: ${agent}, env: { DATABASE_URL: "sqlite:./dev.db", LOG: agent.log, HOOK: ./hook } }
  loads: { harness: acp, command: ${agent}, env: { NODE_OPTIONS: "--import ./pre.mjs" } }
  lines: { harness: acp, command: [bash, -c, "cd sub && ../run.sh"] }
  served: { harness: acp, command: ${agent}, mcp: [tickets] }
`,
    ".mcp.json": JSON.stringify({
      mcpServers: { tickets: { command: "node", args: ["tickets.mjs", "--log", "t.log"] } },
    }),
    "dev.db": "one",
    "agent.log": "",
    "t.log": "",
    hook: "just text\n",
    "pre.mjs": "export {};\n",
    "tickets.mjs": 'const token = "abcdefgh12345";\n',
    "sub/readme.md": "",
    "run.sh": `#!/bin/sh\nexec ${process.execPath} ${fixture("acp-agent.mjs")}\n`,
  });
  await chmod(join(project.root, "run.sh"), 0o755);
  await project.aegis("trust", "--yes");
  for (const name of ["data", "loads", "served", "lines"])
    expect(await ask(project, name), name).toMatchObject(started);
  for (const file of ["dev.db", "agent.log", "t.log", "sub/readme.md"])
    await appendFile(join(project.root, file), "more\n");
  for (const name of ["data", "loads", "served", "lines"])
    expect(await ask(project, name), name).toMatchObject(started);

  await put(project, "pre.mjs", 'import "./evil.mjs";\n');
  const refused = await refusal(project, "loads");
  expect(refused).toMatch(changed);
  const why = 'pre.mjs changed (`-export {};` `+import "./evil.mjs";`)';
  expect(refused).toContain(`what changed: ${why}`);
  for (const command of [["trust"], ["trust", "--list"], ["doctor"], ["status"]] as const)
    expect(
      (await project.aegis(...command)).stdout + (await project.aegis(...command)).stderr,
      command.join(" "),
    ).toContain(why);

  // The value that looks secret is not repeated.
  await put(project, "tickets.mjs", 'const token = "zyxwvuts98765";\n');
  const served = await refusal(project, "served");
  expect(served).toContain("tickets.mjs changed");
  expect(served).not.toMatch(/abcdefgh|zyxwvuts/);

  await put(project, "run.sh", "#!/bin/sh\ntouch ran\n");
  expect(await refusal(project, "lines")).toContain("run.sh changed");
  // A file of data that becomes a program counts.
  await put(project, "hook", "#!/bin/sh\ntouch ran\n");
  expect(await refusal(project, "data")).toContain("hook is new");
  await put(project, ".aegis.yaml", "agents:\n  data: { harness: acp, command: [other] }\n");
  expect((await project.aegis("trust", "--list")).stdout).toContain("the setting command changed");
  expect(await stateOf(project, "config/data")).toBe("changed");
});

it("leads out of a worktree that has another version of what an agent names", {
  tags: "slow",
  timeout: scaled(120_000),
}, async () => {
  const servers = (name: string) => JSON.stringify({ mcpServers: { tickets: { command: name } } });
  const project = await agreedProject({
    ".aegis.yaml": `default_agent: dev
agents:
  dev: { harness: acp, command: ${agent}, mcp: [tickets], isolation: worktree }
`,
    ".gitignore": ".aegis/\n",
    ".mcp.json": servers("old"),
  });
  const git = await initGit(project.root);
  await writeFile(join(project.root, ".mcp.json"), servers("new"));
  expect((await project.aegis("trust", "--yes")).code).toBe(0);

  const refusedIn = async (handle: string) => {
    expect((await project.aegis("spawn", "dev", "--handle", handle)).code).toBe(0);
    const sent = await project.aegis("send", handle, "do:settings", "--wait");
    expect(sent.code).not.toBe(0);
    return sent.stderr;
  };
  const refused = await refusedIn("ada");
  expect(refused).toContain("this worktree has another version of .mcp.json than the one that you trusted");
  expect(refused).toMatch(/`-.*"new".*`\+.*"old"/s);

  // What is trusted in the project is not all: the list names the worktree and the way out.
  const listed = await project.aegis("trust", "--list");
  const way = /aegis (trust --in \S+)/.exec(listed.stdout)?.[1] ?? "";
  expect(refused).toContain(`aegis ${way}`);
  expect((await project.aegis("trust")).stdout).toContain(way);

  const agreed = await project.aegis(...way.split(" "), "--yes");
  expect(agreed.code, agreed.stderr).toBe(0);
  expect(agreed.stdout).toContain(".mcp.json");
  const again = await project.aegis("send", "ada", "do:settings", "--wait");
  expect(again.code, again.stderr).toBe(0);
  expect((await project.aegis("trust", "--list")).stdout).not.toContain("--in");
  // Only in that worktree.
  const other = await refusedIn("eve");

  const rebase = /git -C \S+ rebase "\$\(.*?\)"/.exec(other)?.[0] ?? "";
  expect(other).toContain("commit .mcp.json in the project");
  await git("commit", "-qam", "servers");
  await run("bash", ["-c", rebase], { cwd: project.root });
  const rebased = await project.aegis("send", "eve", "do:settings", "--wait");
  expect(rebased.code, rebased.stderr).toBe(0);

  const unknown = await project.aegis("trust", "--in", "avi");
  expect(unknown.code).not.toBe(0);
  expect(unknown.stderr).toContain("avi is no worktree of this project");
  expect((await project.aegis("trust", "--in", "eve", "--list")).stdout).toContain("trusted");
});
