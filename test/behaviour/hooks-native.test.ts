/** Hooks with native agents of the built package, whose model is a fake one on loopback. */
import { expect, it } from "vitest";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { testProject } from "../helpers/project.ts";
import { createSession, talk } from "../helpers/talk.ts";

const rules = `
import { hook } from "aegis";
export const start = hook("before_agent_start", ({ systemPrompt }) => ({ systemPrompt: systemPrompt + "\\nToday is Monday." }));
export const turn = hook("pre_turn", () => ({
  prependSystem: "Speak softly.",
  extendHistory: [{ role: "user", text: "my name is Ada" }, { role: "assistant", text: "hello Ada" }],
}));
export const gate = hook("pre_tool_use", ({ tool, kind }) => ({ decision: "deny", reason: tool + " is a way to " + kind }));
`;

/** Runs what it is told to run, then says what came of it. */
function answer({ transcript }: FakeRequest): Reply {
  const last = transcript.at(-1) ?? "";
  if (last.startsWith("result:")) return { text: `then: ${last}` };
  const command = /run (\S+)/.exec(last)?.[1];
  if (command === undefined) return { text: "fine" };
  return { calls: [{ id: "call-1", name: "bash", input: { command } }] };
}

it("changes what the model is sent, before each call, and denies its tools", async () => {
  const models = await fakeModels(openaiChatWire, answer);
  const project = await testProject({
    ".aegis.yaml": nativeConfig(models),
    ".aegis/plugins/house/plugin.toml": '[plugin]\nname = "house"\nversion = "1.0.0"\n',
    ".aegis/plugins/house/rules.js": rules,
  });
  const { client } = await project.start();
  const { id } = await createSession(client);
  expect(await talk(client, id, "run ls")).toContain("bash is a way to execute");
  expect(models.requests).toHaveLength(2);
  for (const { body } of models.requests) expect(JSON.stringify(body)).toContain("Today is Monday.");
  const first = JSON.stringify(models.requests[0]?.body);
  expect(first).toContain("Speak softly.");
  expect(first.indexOf("my name is Ada")).toBeLessThan(first.indexOf("run ls"));
});
