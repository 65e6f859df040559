/** What was agreed to and then changes is not run by a daemon that is up: the judge is asked at each use. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import {
  type Answer,
  agreedProject,
  ask,
  changed,
  playbook,
  put,
  refusal,
  stateOf,
} from "../helpers/projects/consent.ts";
import { splitRows } from "../helpers/split-rows.ts";
import { waitUntil } from "../helpers/wait-until.ts";

it("does not follow a playbook that changed, in a new session and in an open one, until its user agrees", {
  tags: "slow",
}, async () => {
  const project = await agreedProject({
    ".aegis.yaml": "agents:\n  dev: { harness: scripted, playbook: play.yaml }\n",
    "play.yaml": playbook("as agreed"),
  });
  const { aegis, json } = project;
  expect((await json<Answer>("run", "--keep", "hello")).text).toContain("as agreed");
  const [session] = (await json<{ sessions: { handle: string }[] }>("ps")).sessions;
  await put(project, "play.yaml", playbook("something else"));
  expect(await stateOf(project, "config/dev")).toBe("changed");

  const refused = await ask(project, "dev");
  expect(refused).toMatchObject({ reason: "failed", text: "" });
  expect(refused.error?.message).toMatch(changed);
  expect(refused.error?.message).toContain("follows play.yaml");
  expect(refused.error?.fix).toContain("aegis trust");
  const again = await aegis("send", session?.handle ?? "", "hello", "--wait");
  expect(again.code).not.toBe(0);
  expect(again.stdout).not.toContain("something else");
  expect(again.stderr).toMatch(changed);
  const started = await aegis("run", "hello");
  expect(started.code).not.toBe(0);
  expect(started.stderr).toMatch(changed);

  expect((await aegis("trust", "--yes")).code).toBe(0);
  expect((await json<Answer>("run", "hello")).text).toContain("something else");
});

it("does not start a program that changed, nor one whose options name a file that did", async () => {
  const mark = (name: string) => `import { writeFileSync } from "node:fs";\nwriteFileSync("${name}", "");\n`;
  const project = await agreedProject({
    ".aegis.yaml": `default_agent: quiet
agents:
  quiet: { harness: scripted }
  loud: { harness: acp, command: [node, agent.mjs] }
  flagged: { harness: acp, command: [node, --import=./setup.mjs, -e, "0"] }
  by_env: { harness: acp, command: [node, -e, "0"], env: { NODE_OPTIONS: "--import ./env.mjs" } }
`,
    "agent.mjs": "process.exit(0);\n",
    "setup.mjs": "export {};\n",
    "env.mjs": "export {};\n",
  });
  const files = { loud: "agent.mjs", flagged: "setup.mjs", by_env: "env.mjs" };
  for (const [agent, file] of Object.entries(files)) {
    await put(project, file, mark(`ran-${agent}`));
    expect(await stateOf(project, `config/${agent}`)).toBe("changed");
    const refused = await ask(project, agent);
    expect(refused.error?.message).toMatch(changed);
    expect(refused.error?.fix).toContain("aegis trust");
    expect(existsSync(join(project.root, `ran-${agent}`))).toBe(false);
  }
  await project.aegis("trust", "--yes");
  await project.aegis("run", "--agent", "loud", "--timeout", "2s", "hello");
  await waitUntil("the agreed program ran", () => existsSync(join(project.root, "ran-loud")));
});

const notAgreed = [
  ["claude-code", ".claude/settings.json", '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"x"}]}]}}'],
  ["claude-code", ".claude/agents/helper.md", "---\nname: helper\nhooks:\n  PreToolUse: []\n---\nYou help.\n"],
  ["claude-code", ".claude/agents/free.md", "---\nname: free\npermissionMode: bypassPermissions\n---\nYou help.\n"],
  ["claude-code", ".claude/skills/tidy/SKILL.md", '---\nname: tidy\n"hooks": {}\n---\nTidy up.\n'],
  ["claude-code", ".claude/commands/state.md", "Look at this: !`touch started`\n"],
  [
    "copilot",
    ".github/agents/helper.agent.md",
    "---\nname: helper\nmcp-servers:\n  x: { command: x }\n---\nYou help.\n",
  ],
  ["codex", ".codex/config.toml", "[mcp_servers.x]\ncommand = 'x'\n"],
  ["gemini", ".gemini/settings.json", "{}"],
  ["opencode", "opencode.json", "{}"],
  ["claude-code", ".claude/skills/tidy/SKILL.md", "---\nname: tidy\nallowed-tools: Bash(*)\n---\nTidy up.\n"],
  ["claude-code", ".claude/commands/go.md", "---\nAllowed_Tools: [Bash]\n---\nGo.\n"],
  ["claude-code", ".claude/skills/flow/SKILL.md", "---\n{name: flow, hooks: {Stop: []}}\n---\nGo.\n"],
  ["claude-code", ".claude/skills/key/SKILL.md", "---\nname: key\n? hooks\n: { Stop: [] }\n---\nGo.\n"],
  ["claude-code", ".claude/skills/esc/SKILL.md", '---\nname: esc\n"\\x68ooks": { Stop: [] }\n---\nGo.\n'],
  ["claude-code", ".claude/skills/loaded/.claude-plugin/plugin.json", '{"name":"loaded"}'],
  ["claude-code", ".claude/workflows/deploy.js", "export default () => {};\n"],
  ["gemini", ".env", "GEMINI_CLI_SYSTEM_SETTINGS_PATH=./settings.json\n"],
  ["gemini", ".env", "export BASH_ENV=./run.sh\n"],
  ["qwen", ".env", "OPENAI_BASE_URL: http://127.0.0.1:9\n"],
  ["kilo", "kilo.json", "{}"],
  ["kilo", ".kilocode/mcp.json", "{}"],
  ["goose", ".agents/plugins/x/hooks/hooks.json", "{}"],
  ["kimi", ".kimi-code/mcp.json", "{}"],
  ["copilot", ".github/extensions/x/extension.mjs", "export {};\n"],
  ["copilot", ".github/lsp.json", "{}"],
  ["copilot", ".github/skills/x/SKILL.md", "---\nname: x\nallowed-tools: shell\n---\nGo.\n"],
  ["acp", ".claude/settings.json", '{"hooks":{}}'],
  ["acp", ".codex/config.toml", "[mcp_servers.x]\ncommand = 'x'\n"],
  ["acp", ".mcp.json", '{"mcpServers":{"x":{"command":"x"}}}'],
] as const;

async function isNotStarted(harness: string, path: string, text: string): Promise<void> {
  const project = await agreedProject({
    ".aegis.yaml": `default_agent: quiet\nagents:\n  quiet: { harness: scripted }\n  real: { harness: ${harness}, command: [bin/harness] }\n`,
    "bin/harness": "#!/bin/sh\ntouch started\n",
  });
  await put(project, path, text);
  expect(await refusal(project, "real")).toMatch(/harness .* is not trusted here/);
  expect(existsSync(join(project.root, "started"))).toBe(false);
}

const files = splitRows(notAgreed, ([harness]) => harness);
it.each(files.quick)("does not start %s once %s is there without consent", isNotStarted);
it.each(files.slow)("does not start %s once %s is there without consent", { tags: "slow" }, isNotStarted);

it.each([
  ["codex", ".codex/config.toml", "[mcp_servers.x]\ncommand = 'x'\n"],
  ["opencode", ".opencode/plugin/x.js", "export const X = async () => ({});\n"],
  ["claude-code", ".claude/skills/tidy/SKILL.md", "---\nname: tidy\nhooks: {}\n---\nTidy up.\n"],
])("does not start %s in a part of a repository whose root holds %s", { tags: "slow" }, async (harness, path, text) => {
  const project = await agreedProject({
    ".aegis.yaml": `default_agent: quiet\nagents:\n  quiet: { harness: scripted }\n  real: { harness: ${harness}, command: [bin/harness] }\n`,
    "bin/harness": "#!/bin/sh\ntouch started\n",
  });
  const above = dirname(project.root);
  await mkdir(join(above, ".git"), { recursive: true });
  await mkdir(dirname(join(above, path)), { recursive: true });
  await writeFile(join(above, path), text);
  expect(await refusal(project, "real")).toMatch(/harness \.\.\/.* is not trusted here/);
  expect(existsSync(join(project.root, "started"))).toBe(false);
});

it("starts a harness beside variables of the project's own program", async () => {
  const project = await agreedProject({
    ".aegis.yaml":
      "default_agent: quiet\nagents:\n  quiet: { harness: scripted }\n  real: { harness: gemini, command: [bin/harness] }\n",
    "bin/harness": "#!/bin/sh\ntouch started\n",
  });
  await put(project, ".env", "NODE_ENV=test\nGITHUB_TOKEN=x\nDATABASE_URL=postgres://localhost\nGEMINI_API_KEY=x\n");
  expect((await ask(project, "real")).error?.message).not.toMatch(/is not trusted here/);
  expect(existsSync(join(project.root, "started"))).toBe(true);
});

it("starts Claude Code beside pages that only speak, and not once one names a script that changed", {
  tags: "slow",
}, async () => {
  const project = await agreedProject({
    ".aegis.yaml":
      "default_agent: quiet\nagents:\n  quiet: { harness: scripted }\n  real: { harness: claude-code, command: [bin/harness] }\n",
    "bin/harness": "#!/bin/sh\ntouch started\n",
    "tools/lint.sh": "true\n",
  });
  await put(
    project,
    ".claude/agents/plain.md",
    "---\nname: plain\ntools: Read\n---\nTalk about hooks: and `!important`.\n",
  );
  expect((await ask(project, "real")).error?.message).not.toMatch(/is not trusted here/);
  expect(existsSync(join(project.root, "started"))).toBe(true);
  await put(
    project,
    ".claude/skills/tidy/SKILL.md",
    "---\nname: tidy\nhooks:\n  Stop: [{ hooks: [{ type: command, command: tools/lint.sh }] }]\n---\nTidy up.\n",
  );
  expect(await refusal(project, "real")).toMatch(/harness .* is not trusted here/);
  await project.aegis("trust", "--yes");
  await put(project, "tools/lint.sh", "touch hooked\n");
  expect(await refusal(project, "real")).toMatch(changed);
});

it.each([
  ".claude/hooks/lint.sh --fix",
  "$CLAUDE_PROJECT_DIR/.claude/hooks/lint.sh",
  `"\${CLAUDE_PROJECT_DIR}"/.claude/hooks/lint.sh`,
])("does not start a harness whose settings name a script that changed: %s", { tags: "slow" }, async (command) => {
  const hook = { type: "command", command };
  const project = await agreedProject({
    ".aegis.yaml":
      "default_agent: quiet\nagents:\n  quiet: { harness: scripted }\n  real: { harness: claude-code, command: [bin/harness] }\n",
    "bin/harness": "#!/bin/sh\ntouch started\n",
    ".claude/settings.json": JSON.stringify({ hooks: { SessionStart: [{ hooks: [hook] }] } }),
    ".claude/hooks/lint.sh": "true\n",
  });
  await put(project, ".claude/hooks/lint.sh", "touch hooked\n");
  expect(await refusal(project, "real")).toMatch(changed);
  expect(existsSync(join(project.root, "started"))).toBe(false);
});
