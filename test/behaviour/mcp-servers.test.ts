/** An agent that keeps MCP servers of the project: agreed to with the content of `.mcp.json`, shown, and really given. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { fixture } from "../helpers/pids.ts";
import { scaled } from "../helpers/slowness.ts";

const servers = (command: string) =>
  JSON.stringify({ mcpServers: { tickets: { command, args: ["tickets.mjs"] }, docs: { command: "docs" } } });
const config = `default_agent: dev
agents:
  dev: { harness: acp, command: [${process.execPath}, ${fixture("acp-agent.mjs")}], mcp: [tickets] }
  bare: { harness: acp, command: [${process.execPath}, ${fixture("acp-agent.mjs")}] }
  plain: { harness: scripted, mcp: inherit }
`;

it("gives an agent the servers it names, once the user has agreed to what they start", {
  timeout: scaled(90_000),
}, async () => {
  const files = { ".aegis.yaml": config, ".mcp.json": servers("node"), "tickets.mjs": "// one\n" };
  const { aegis, root } = await aegisProject(files, { trusted: false });
  const listed = (await aegis("trust", "--list")).stdout;
  expect(listed).toMatch(/agent config\/dev[\s\S]*uses the MCP servers tickets \(node tickets\.mjs\) of \.mcp\.json/);
  await aegis("trust", "--yes");
  const given = async (agent: string) => {
    const { stdout, stderr } = await aegis("run", "--agent", agent, "do:settings");
    const text = /\{.*\}/s.exec(stdout)?.[0];
    if (text === undefined) throw new Error(`no state: ${stdout}${stderr}`);
    const { mcpServers } = JSON.parse(text) as { mcpServers: { name: string; command?: string }[] };
    return mcpServers.map(({ name, command }) => [name, command ?? null]);
  };
  expect(await given("dev")).toEqual([
    ["aegis", null],
    ["tickets", "node"],
  ]);
  expect(await given("bare")).toEqual([["aegis", null]]);
  expect((await aegis("agent", "show", "dev")).stdout).toMatch(/^mcp servers +tickets$/m);
  expect((await aegis("agent", "show", "plain")).stdout).toContain("mcp: has no effect on scripted");

  // The program that a server starts is part of what was agreed to, and so is the list itself.
  for (const change of [
    () => writeFile(join(root, "tickets.mjs"), "// two\n"),
    () => writeFile(join(root, ".mcp.json"), servers("other")),
  ]) {
    await change();
    expect((await aegis("trust", "--list")).stdout).toMatch(/changed +agent config\/dev/);
    const refused = await aegis("run", "--agent", "dev", "do:settings");
    expect(refused.code).not.toBe(0);
    expect(`${refused.stdout}${refused.stderr}`).toContain("aegis trust");
    await aegis("trust", "--yes");
  }
  expect(await given("dev")).toContainEqual(["tickets", "other"]);
});
