/**
 * What `mcp` of an agent lets a real CLI have besides the plane: nothing, everything that the user and the project have
 * declared, or the named servers only.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Agent } from "@aegis/contract/agent.ts";
import { createAcpDriver } from "@aegis/drivers/acp/driver.ts";
import { gemini } from "@aegis/drivers/acp/recipes/gemini.ts";
import { opencode } from "@aegis/drivers/acp/recipes/opencode.ts";
import { createClaudeCodeDriver } from "@aegis/drivers/claude-code/driver.ts";
import { createCodexDriver } from "@aegis/drivers/codex/driver.ts";
import type { Driver, DriverDeps } from "@aegis/drivers/driver.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runTurn, textOf } from "../helpers/turns.ts";
import { type Decoys, makeDecoys, writeSettings } from "./decoys.ts";
import { type FakeAnthropic, startFakeAnthropic } from "./fake-anthropic.ts";
import { type FakeChat, startFakeChat } from "./fake-chat.ts";
import { type FakeGemini, startFakeGemini } from "./fake-gemini.ts";
import { type FakeOpenAi, startFakeOpenAi } from "./fake-openai.ts";
import { liveSeat } from "./live-seat.ts";
import { openCodeEnv, openCodeSettings } from "./support/opencode-settings.ts";

let anthropic: FakeAnthropic;
let openai: FakeOpenAi;
let google: FakeGemini;
let chat: FakeChat;
beforeAll(async () => {
  [anthropic, openai, google, chat] = await Promise.all([
    startFakeAnthropic(),
    startFakeOpenAi(),
    startFakeGemini(),
    startFakeChat(),
  ]);
});
afterAll(() => Promise.all([anthropic.close(), openai.close(), google.close(), chat.close()]));

const here = (path: string) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
const platform = `${process.platform}-${process.arch}`;
const triple = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-musl`;

type Places = { home: string; dir: string };
type Subject = {
  name: string;
  driver: (deps: DriverDeps) => Driver;
  agent: Pick<Agent, "harness"> & Partial<Agent>;
  program: string;
  env: (places: Places) => Record<string, string>;
  /** As the model names the tool of a server. */
  tool: (server: string, tool: string) => string;
  /** Declares the servers of the user, beside settings that the CLI needs. */
  declare(places: Places, decoys: Decoys, names: readonly string[]): Promise<void>;
};

const subjects: Subject[] = [
  {
    name: "Claude Code",
    driver: createClaudeCodeDriver,
    agent: { harness: "claude-code", model: "claude-sonnet-4-5" },
    program: here(`@anthropic-ai/claude-code-${platform}/claude`),
    env: () => ({ ANTHROPIC_API_KEY: "test", ANTHROPIC_BASE_URL: anthropic.url, CLAUDE_CODE_MAX_RETRIES: "0" }),
    tool: (server, tool) => `mcp__${server}__${tool}`,
    async declare({ home }, { server }, names) {
      const mcpServers = Object.fromEntries(names.map((name) => [name, { type: "stdio", ...server(name) }]));
      await writeSettings(join(home, ".claude.json"), { mcpServers });
    },
  },
  {
    name: "Codex",
    driver: createCodexDriver,
    agent: { harness: "codex", env: { FAKE_KEY: "fake-key-value" } },
    program: here(`@openai/codex-linux-${process.arch}/vendor/${triple}/bin/codex`),
    env: ({ home }) => ({ CODEX_HOME: join(home, ".codex") }),
    tool: (server, tool) => `mcp__${server}/${tool}`,
    async declare({ home }, { server }, names) {
      const settings = [
        'model = "gpt-5.5"',
        'model_provider = "fake"',
        "[model_providers.fake]",
        'name = "fake"',
        `base_url = "${openai.url}"`,
        'wire_api = "responses"',
        'env_key = "FAKE_KEY"',
        "request_max_retries = 0",
        "stream_max_retries = 0",
      ];
      for (const name of names) {
        const { command, args } = server(name);
        settings.push(`[mcp_servers.${name}]`, `command = "${command}"`, `args = ${JSON.stringify(args)}`);
      }
      await writeSettings(join(home, ".codex", "config.toml"), settings.join("\n"));
    },
  },
  {
    name: "Gemini CLI",
    driver: (deps) => createAcpDriver(deps, gemini),
    agent: { harness: gemini.harness, model: "gemini-2.5-pro" },
    program: here("@google/gemini-cli/bundle/gemini.js"),
    env: () => ({ GEMINI_API_KEY: "test", GOOGLE_GEMINI_BASE_URL: google.url }),
    tool: (server, tool) => `mcp_${server}_${tool}`,
    async declare({ home }, { server }, names) {
      const mcpServers = Object.fromEntries(names.map((name) => [name, server(name)]));
      await writeSettings(join(home, ".gemini", "settings.json"), { mcpServers });
    },
  },
  {
    name: "OpenCode",
    driver: (deps) => createAcpDriver(deps, opencode),
    agent: { harness: opencode.harness, model: "fake/model" },
    program: here(`opencode-${platform}/bin/opencode`),
    env: () => openCodeEnv(openCodeSettings(chat.url)),
    tool: (server, tool) => `${server}_${tool}`,
    async declare({ home }, { server }, names) {
      const mcp = Object.fromEntries(
        names.map((name) => {
          const { command, args } = server(name);
          return [name, { type: "local", command: [command, ...args], enabled: true }];
        }),
      );
      await writeSettings(join(home, ".config", "opencode", "opencode.json"), { mcp });
    },
  },
];

describe.each(subjects)("$name", (subject) => {
  const { driver, agent, program, tool, env, declare } = subject;
  test.runIf(existsSync(program)).each<{ mcp: Agent["mcp"]; started: string[] }>([
    { mcp: "none", started: [] },
    { mcp: "inherit", started: ["mine", "other", "shared"] },
    { mcp: ["mine"], started: ["mine"] },
  ])("mcp: $mcp gives $started", async ({ mcp, started }) => {
    const command = program.endsWith(".js") ? [process.execPath, program] : [program];
    const places = { home: "", dir: "" };
    const { open, dir, plane } = await liveSeat(
      // The home is known once the seat is there.
      (deps) => driver({ ...deps, env: { ...deps.env, ...env({ ...places, home: String(deps.env.HOME) }) } }),
      { permission: "auto", options: { command }, ...agent, mcp },
      { permission: () => ({ decision: "allow", scope: "once" }) },
    );
    const home = join(dir, "..", "home");
    const decoys = await makeDecoys(join(dir, "..", "decoys"));
    await declare({ home, dir }, decoys, ["mine", "other"]);
    await writeSettings(join(dir, ".mcp.json"), { mcpServers: { shared: decoys.server("shared") } });
    const conversation = await open();
    expect(textOf(await runTurn(conversation, `TOOL ${tool("aegis", "change")} {"text":"hi"}`))).toContain(
      "changed: hi",
    );
    expect(plane.calls).toEqual([{ tool: "change", text: "hi" }]);
    expect((await decoys.started()).toSorted()).toEqual(started);
    for (const server of started.slice(0, 1)) {
      const turn = await runTurn(conversation, `TOOL ${tool(server, "decoy")} {}`);
      expect(textOf(turn)).toContain("the decoy answered");
    }
  });
});
