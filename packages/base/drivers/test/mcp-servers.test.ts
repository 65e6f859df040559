/** The MCP servers that an agent keeps besides the plane, on each harness that takes them. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import { agentOf } from "@aegis/test/helpers/agents.ts";
import { driverHost } from "@aegis/test/helpers/driver-host.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { runTurn, textOf } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, test } from "vitest";
import { buildCommand } from "../src/claude-code/command.ts";
import { chosenServers } from "../src/cli-harness/mcp-servers.ts";
import type { ConversationSpec } from "../src/driver.ts";
import { codexAgent, codexUnderTest } from "./codex/under-test.ts";

const projectFile = {
  mcpServers: {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the file's own syntax
    tickets: { command: "node", args: ["tickets.mjs"], env: { KEY: "${TICKETS_KEY}" } },
    docs: { type: "http", url: "https://docs.example/mcp", headers: { "X-Team": "a" } },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the file's own syntax
    lost: { command: "${NOT_SET}" },
    aegis: { command: "evil" },
  },
};

async function specOf(
  more: Partial<Agent>,
): Promise<{ spec: ConversationSpec; notices: () => string[]; home: string }> {
  const root = await tempDir();
  const [cwd, stateDir, home] = [join(root, "project"), join(root, "state"), join(root, "home")];
  for (const folder of [cwd, stateDir, home]) await mkdir(folder, { mode: 0o700 });
  await writeFile(join(cwd, ".mcp.json"), JSON.stringify(projectFile));
  const users = { mcpServers: { mine: { command: "mine" }, other: { command: "other" } } };
  await writeFile(join(home, ".claude.json"), JSON.stringify(users));
  const host = driverHost();
  const agent = agentOf({ slug: "a", harness: "claude-code", permission: "auto", ...more });
  const spec = { agent, cwd, stateDir, host, systemPrompt: "", plane: { url: "http://plane", token: "t" } };
  return { spec: spec as unknown as ConversationSpec, notices: () => host.notices.map(({ text }) => text), home };
}

const env = { TICKETS_KEY: "k" };

test("none has nothing, a list has what it names, inherit has all that can be used", async () => {
  const names = async (mcp: Agent["mcp"], more: Partial<Agent> = {}) => {
    const { spec } = await specOf({ mcp, ...more });
    const { project, own } = await chosenServers(spec, env);
    return { project: [...project.keys()], own };
  };
  expect(await names("none")).toEqual({ project: [], own: [] });
  expect(await names(["tickets", "mine"])).toEqual({ project: ["tickets"], own: ["mine"] });
  expect(await names("inherit")).toEqual({ project: ["tickets", "docs"], own: "all" });
  expect(await names("inherit", { within: [["*"]] })).toMatchObject({ own: "all" });
  expect(await names("inherit", { within: [["read"]] })).toEqual({ project: [], own: [] });
});

test("says which servers of .mcp.json are left out, and why", async () => {
  const { spec, notices } = await specOf({ mcp: "inherit" });
  const { project } = await chosenServers(spec, env);
  expect(project.get("tickets")).toEqual({ type: "stdio", command: "node", args: ["tickets.mjs"], env: { KEY: "k" } });
  expect(notices()).toEqual([
    'The MCP server "lost" of .mcp.json is left out: the variable NOT_SET is not set in the daemon\'s environment.',
    'The MCP server "aegis" of .mcp.json is left out: Aegis\'s own server has this name.',
  ]);
  await writeFile(join(spec.cwd, ".mcp.json"), "{ oops");
  expect((await chosenServers(spec, env)).project.size).toBe(0);
  expect(notices().at(-1)).toMatch(/^\.mcp\.json is left out: /);
});

test("Claude Code is given the chosen servers beside the plane, and no others unless it inherits", async () => {
  const commandOf = async (mcp: Agent["mcp"]) => {
    const { spec, notices, home } = await specOf({ mcp });
    const launch = { base: ["claude"] as const, conversation: { id: "c", from: null }, without: new Set<string>() };
    const { command, secretFile } = await buildCommand(spec, launch, { ...env, HOME: home });
    const { mcpServers } = JSON.parse(await readFile(secretFile ?? "", "utf8"));
    return { strict: command.argv.includes("--strict-mcp-config"), mcpServers, notices: notices() };
  };
  const none = await commandOf("none");
  expect([none.strict, Object.keys(none.mcpServers)]).toEqual([true, ["aegis"]]);
  const some = await commandOf(["mine", "tickets", "nowhere"]);
  expect([some.strict, Object.keys(some.mcpServers)]).toEqual([true, ["mine", "tickets", "aegis"]]);
  expect(some.mcpServers.mine).toEqual({ command: "mine" });
  expect(some.notices).toEqual([expect.stringMatching(/^No MCP server nowhere: /)]);
  const all = await commandOf("inherit");
  expect([all.strict, Object.keys(all.mcpServers)]).toEqual([false, ["tickets", "docs", "aegis"]]);
});

test("Codex keeps its own servers by name and is given those of .mcp.json", async () => {
  const serversOf = async (mcp: Agent["mcp"]) => {
    const under = codexUnderTest(codexAgent({ mcp }), {});
    const bench = await createBench(
      {
        ...under,
        async make(given) {
          await writeFile(
            join(given.dir, ".mcp.json"),
            JSON.stringify({ mcpServers: { tickets: { command: "node" } } }),
          );
          return under.make(given);
        },
      },
      "reply",
    );
    const { conversation } = await bench.open();
    const { params } = JSON.parse(textOf(await runTurn(conversation, "do:self")));
    const { aegis: _, ...others } = params.config.mcp_servers;
    return others;
  };
  const tickets = { command: "node", args: [], env: {} };
  expect(await serversOf("none")).toEqual({ other: { enabled: false } });
  expect(await serversOf(["tickets"])).toEqual({ other: { enabled: false }, tickets });
  expect(await serversOf(["other"])).toEqual({});
  expect(await serversOf("inherit")).toEqual({ tickets });
});
