/** Writes of agents to the files that decide what they may do: a person is asked, for every permission of the agent. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { testProject } from "../helpers/project.ts";
import { answerTo, createSession, openAsk, say, talk } from "../helpers/talk.ts";

const files = {
  ".aegis.yaml":
    "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: playbook.yaml, permission: full }\n",
  "playbook.yaml": `
rules:
  - name: write
    when: '/^write (\\S+)/'
    steps: [{ tool: write_report, input: { path: "{1}", text: "mine" }, save: out }, { say: "{out}" }]
`,
  // A plugin cannot allow it either.
  ".aegis/plugins/lax.ts":
    'import { hook } from "aegis";\nexport const lax = hook("pre_tool_use", () => ({ decision: "allow" }));\n',
};

it("asks a person, who decides for this one call", async () => {
  const project = await testProject(files);
  const { client } = await project.start();
  const { id } = await createSession(client);
  expect(await talk(client, id, "write report.md")).toContain("wrote report.md");
  for (const [choice, outcome] of [
    ["deny", /not permitted/],
    ["allow", /wrote \.aegis\/notes\.md/],
    ["deny", /not permitted/],
  ] as const) {
    const receipt = await say(client, id, "write .aegis/notes.md");
    const ask = await openAsk(client);
    expect(ask.question).toMatch(/Write \.aegis\/notes\.md \(it may write to \.aegis, which decides/);
    expect(ask.options).toEqual(["allow", "deny"]);
    await client.call("answerAsk", { path: { ask: ask.id }, body: { choice, text: "" } });
    expect(await answerTo(client, receipt)).toMatch(outcome);
  }
});

it("denies it where no person can be asked", async () => {
  const project = await testProject(files);
  const { client } = await project.start();
  const { id } = await createSession(client, { ask_policy: "deny" });
  expect(await talk(client, id, "write .aegis/notes.md")).toMatch(/not permitted: this session has no person to ask/);
});

/** Calls the tool that it is told to, then says what came of it. */
function answer({ transcript }: FakeRequest): Reply {
  const last = transcript.at(-1) ?? "";
  if (last.startsWith("result:")) return { text: `then: ${last}` };
  const [, name = "", input = "{}"] = /use (\w+) (\{.*\})/.exec(last) ?? [];
  return { calls: [{ id: "call-1", name, input: JSON.parse(input) as unknown }] };
}

it.each([
  { tool: "write", input: { path: "src/../.aegis.local.yaml", content: "agents: {}" } },
  { tool: "write", input: { path: "src\n/../.aegis.local.yaml", content: "agents: {}" } },
  { tool: "write", input: { path: ".git/hooks/pre-commit", content: "#!/bin/sh\ntouch pwned\n" } },
  { tool: "bash", input: { command: "echo 'plugins: { enabled: false }' >> .aegis.yaml" } },
  { tool: "bash", input: { command: "aegis plugin drop house --yes" } },
  { tool: "bash", input: { command: "aegis run --agent full 'touch pwned'" } },
  { tool: "bash", input: { command: "git config core.hooksPath src" } },
  { tool: "bash", input: { command: "pkill -f daemon.js" } },
  { tool: "bash", input: { command: "cat .aegis/state/daemon.json" } },
  { tool: "read", input: { path: ".aegis/state/daemon.json" } },
  { tool: "grep", input: { pattern: "token", path: ".aegis" } },
])("asks about a native agent's $tool with full rights: $input", async ({ tool, input }) => {
  const models = await fakeModels(openaiChatWire, answer);
  const project = await testProject({ ".aegis.yaml": nativeConfig(models) });
  const before = await readFile(join(project.dir, ".aegis.yaml"), "utf8");
  const { client } = await project.start();
  const { id } = await createSession(client);
  const receipt = await say(client, id, `use ${tool} ${JSON.stringify(input)}`);
  const ask = await openAsk(client);
  expect(ask.detail).toEqual(input);
  await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", text: "no" } });
  expect(await answerTo(client, receipt)).toContain("Permission denied: no");
  expect(await readFile(join(project.dir, ".aegis.yaml"), "utf8")).toBe(before);
});
