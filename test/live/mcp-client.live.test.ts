/** `aegis mcp` with the real Claude Code as its client, over stdio and over HTTP. The model is a fake on loopback. */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { type FakeAnthropic, startFakeAnthropic } from "./fake-anthropic.ts";
import { claudeProgram } from "./support/harnesses/claude-code.ts";

const files = {
  ".aegis.yaml": "default_agent: robot\nagents:\n  robot: { harness: scripted, playbook: robot.yaml }\n",
  "robot.yaml": 'rules:\n  - name: all\n    when: always\n    steps: [{ say: "{sender} said: {text}" }]\n',
};

let model: FakeAnthropic;
beforeAll(async () => {
  model = await startFakeAnthropic();
});
afterAll(() => model.close());

/** What Claude Code prints for a prompt, with these MCP servers and no others. */
async function ask(at: AegisProject, prompt: string, config: string): Promise<string> {
  const home = join(at.root, "claude-home");
  await mkdir(home, { recursive: true });
  const env = {
    PATH: at.env.PATH ?? "",
    HOME: at.env.HOME ?? "",
    CLAUDE_CONFIG_DIR: home,
    ANTHROPIC_API_KEY: "key-of-no-account",
    ANTHROPIC_BASE_URL: model.url,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_TELEMETRY: "1",
    IS_SANDBOX: "1",
  };
  const args = ["-p", prompt, "--mcp-config", config, "--strict-mcp-config", "--allowedTools", "mcp__aegis"];
  return new Promise((resolve, reject) => {
    const child = execFile(claudeProgram, args, { cwd: at.root, env }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${error.message}\n${stdout}${stderr}`)),
    );
    child.stdin?.end();
  });
}

it("declares the tools of the entry that `aegis mcp install` writes, and uses them", async () => {
  const at = await aegisProject(files);
  expect((await at.aegis("mcp", "install", "claude-code", "--scope", "project", "--yes")).code).toBe(0);
  const config = await readFile(join(at.root, ".mcp.json"), "utf8");
  const said = await ask(at, 'TOOL mcp__aegis__aegis_start {"prompt":"good morning"}', config);
  expect(said).toContain("claude-code said: good morning");
  const declared = model.requests.flatMap(({ tools }) => tools?.map(({ name }) => name) ?? []);
  expect(declared).toEqual(expect.arrayContaining(["mcp__aegis__aegis_start", "mcp__aegis__aegis_wait"]));
});

it("works over HTTP with a credential", async () => {
  const at = await aegisProject(files);
  const { url, token } = await at.json<{ url: string; token: string }>("mcp", "--http", "--client", "desk");
  const headers = { Authorization: `Bearer ${token}` };
  const config = JSON.stringify({ mcpServers: { aegis: { type: "http", url, headers, alwaysLoad: true } } });
  await writeFile(join(at.root, "mcp-http.json"), config);
  const said = await ask(at, 'TOOL mcp__aegis__aegis_start {"prompt":"hello"}', config);
  expect(said).toContain("desk said: hello");
});
