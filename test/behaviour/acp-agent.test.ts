/** `aegis acp`, driven by the client of the ACP SDK. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@aegis/client/client.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { readDaemonFile } from "@aegis/lib/daemon-file.ts";
import { methods } from "@agentclientprotocol/sdk/unstable";
import { expect, it } from "vitest";
import { acpEditor } from "../helpers/acp-editor.ts";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { fakeModels } from "../helpers/fake-models/server.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = {
  ".aegis.yaml": `
default_agent: robot
agents:
  robot: { harness: scripted, playbook: robot.yaml, permission: write, description: Does the work }
  reviewer: { harness: scripted, playbook: robot.yaml, permission: read }
`,
  "robot.yaml": `
opening: "(robot) "
rules:
  - name: rule 1
    when: '/^hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released {1}" }]
  - name: rule 2
    when: '/^may you (.+)/'
    steps:
      - think: I had better ask.
      - { ask: "May I {1}?", tool: "{1}", input: { path: out.md }, save: verdict }
      - say: "It was {verdict}."
  - name: delegate
    when: '/^delegate (.+)/'
    steps: [{ tool: sessions_spawn, input: { task: "{1}", label: scout } }, { say: delegated }]
  - name: rule 3
    when: count todos
    steps: [{ tool: count_todos, save: n }, { say: "{n.summary}" }]
  - name: question
    when: ask me
    steps:
      - { tool: aegis_ask_human, input: { question: "Which one?", options: [left, right] }, save: answer }
      - say: "Answer: {answer}"
  - name: rule 4
    when: fail
    steps: [{ fail: "the model is gone", code: model }]
  - name: rule 5
    when: always
    steps: [{ stream: "You said: {text}", chunk: 6, delay: 1 }]
`,
  "gates/.keep": "",
  ".aegis/commands/hi.md": "---\ndescription: Greets\n---\nsay hi to $ARGUMENTS\n",
};

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const project = () => aegisProject(files);
const { session: to } = methods.agent;
const open = (at: AegisProject, gate: string) => writeFile(join(at.root, "gates", gate), "");

it("starts the daemon, streams an answer and offers agents, models and commands", async () => {
  const at = await project();
  const editor = await acpEditor(at);
  expect(await at.daemonPid()).toBeNull();
  const made = await editor.agent.request(to.new, { cwd: at.root, mcpServers: [] });
  expect(await at.daemonPid()).not.toBeNull();
  expect(made.modes?.availableModes.map(({ id }) => id)).toEqual(expect.arrayContaining(["robot", "reviewer"]));
  expect(made.configOptions?.map(({ id }) => id)).toEqual(["agent", "model"]);
  const { availableCommands } = await editor.sees("available_commands_update");
  expect(availableCommands).toMatchObject([{ name: "hi", description: "Greets" }]);
  const end = await editor.prompt(made.sessionId, "good morning");
  expect(end.stopReason).toBe("end_turn");
  expect(editor.text("agent_message_chunk")).toMatch(/You said: good morning$/);
  expect(editor.updates.filter(({ update }) => update.sessionUpdate === "agent_message_chunk").length).toBeGreaterThan(
    2,
  );
  // The editor shows its own words itself.
  expect(editor.text("user_message_chunk")).toBe("");
  expect((await editor.prompt(made.sessionId, "/hi Ada")).stopReason).toBe("end_turn");
  expect(editor.text("agent_message_chunk")).toContain("You said: say hi to Ada");
  await editor.prompt(made.sessionId, "count todos");
  const call = await editor.sees("tool_call", ({ name }) => name === "count_todos");
  await editor.sees("tool_call_update", (one) => one.toolCallId === call.toolCallId && one.status === "completed");
});

it("sends resources and images, and refuses what no agent can take", { tags: "slow" }, async () => {
  const at = await project();
  const editor = await acpEditor(at);
  const session = await editor.newSession();
  await editor.prompt(session, [
    { type: "text", text: "look at " },
    { type: "resource_link", name: "a.ts", uri: "file:///p/a.ts" },
    { type: "resource", resource: { uri: "file:///p/b.ts", text: "const b = 1;" } },
  ]);
  const said = editor.text("agent_message_chunk");
  expect(said).toContain("[a.ts](<file:///p/a.ts>)");
  expect(said).toContain('<context uri="file:///p/b.ts">\nconst b = 1;\n</context>');
  // The offline agent has no eyes; the refusal reaches the editor.
  const blind = editor.prompt(session, [{ type: "image", data: png, mimeType: "image/png" }]);
  await expect(blind).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining("does not accept images"),
  });
  const audio = editor.prompt(session, [{ type: "audio", data: "", mimeType: "audio/wav" }]);
  await expect(audio).rejects.toMatchObject({ code: -32602 });
});

it("asks every editor; the first answer wins and the other card is closed", { tags: "slow" }, async () => {
  const at = await project();
  const one = await acpEditor(at, { name: "one" });
  const session = await one.newSession();
  const two = await acpEditor(at, { name: "two" });
  await two.agent.request(to.resume, { sessionId: session, cwd: at.root, mcpServers: [] });
  const answered = one.prompt(session, "may you write");
  await waitUntil("both editors show the card", () => one.cards.length === 1 && two.cards.length === 1);
  expect(one.cards[0]?.request).toMatchObject({
    sessionId: session,
    options: [{ kind: "allow_once" }, { kind: "allow_always" }, { kind: "reject_once" }],
    toolCall: { rawInput: { path: "out.md" } },
  });
  const [ask] = await at.json<{ asks: { id: string }[] }>("asks").then(({ asks }) => asks);
  expect((await at.aegis("answer", ask?.id ?? "", "allow")).code).toBe(0);
  expect((await answered).stopReason).toBe("end_turn");
  expect(one.text("agent_message_chunk")).toContain("It was allowed.");
  await waitUntil(
    "both cards are withdrawn",
    () => one.cards[0]?.withdrawn === true && two.cards[0]?.withdrawn === true,
  );
  await two.sees(
    "tool_call_update",
    ({ toolCallId, title }) => toolCallId === ask?.id && /: allow \(/.test(title ?? ""),
  );
  // The second editor sees what was said in the first one.
  expect(two.text("user_message_chunk")).toBe("may you write");
  expect(two.text("agent_thought_chunk")).toBe("I had better ask.");
});

it("shows what a subagent asks in the thread above it", { tags: "slow" }, async () => {
  const at = await project();
  const editor = await acpEditor(at, { name: "Zed" });
  const session = await editor.newSession();
  expect((await editor.prompt(session, "delegate may you write")).stopReason).toBe("end_turn");
  await waitUntil("the card is shown", () => editor.cards.length === 1);
  const [ask] = (await at.json<{ asks: Ask[] }>("asks")).asks;
  expect(ask?.session).not.toBe(session);
  expect(editor.cards[0]?.request).toMatchObject({ sessionId: session, toolCall: { toolCallId: ask?.id } });
  expect(JSON.stringify(editor.cards[0]?.request)).toContain(`Asked by ${ask?.origin?.handle}`);
  expect((await at.aegis("answer", ask?.id ?? "", "deny")).code).toBe(0);
  await waitUntil("the card is withdrawn", () => editor.cards[0]?.withdrawn === true);
});

it("carries the editor's own answer back, bound to the action that it showed", { tags: "slow" }, async () => {
  const at = await project();
  const editor = await acpEditor(at, { name: "Zed", decide: () => "deny" });
  const session = await editor.newSession();
  await editor.prompt(session, "may you write");
  expect(editor.text("agent_message_chunk")).toContain("It was denied.");
  const { asks } = await at.json<{ asks: { settled_by: string }[] }>("asks", "--all");
  expect(asks).toMatchObject([{ settled_by: "acp:zed", answer: { choice: "deny" } }]);
});

it("cancels a turn, and reports a failed one with its reason", { tags: "slow" }, async () => {
  const at = await project();
  const editor = await acpEditor(at);
  const session = await editor.newSession();
  const held = editor.prompt(session, "hold door");
  await editor.sees(
    "agent_message_chunk",
    ({ content }) => content.type === "text" && content.text.includes("holding"),
  );
  await editor.agent.notify(to.cancel, { sessionId: session });
  expect((await held).stopReason).toBe("cancelled");
  await expect(editor.prompt(session, "fail")).rejects.toMatchObject({ code: -32603, message: "the model is gone" });
});

it("keeps the session when the editor is killed, and shows all of it once on load", { tags: "slow" }, async () => {
  const at = await project();
  const one = await acpEditor(at);
  const session = await one.newSession();
  await one.prompt(session, "count todos");
  const held = one.prompt(session, "hold door").catch(() => null);
  await one.sees("agent_message_chunk", ({ content }) => content.type === "text" && content.text.includes("holding"));
  one.child.kill("SIGKILL");
  await held;
  const two = await acpEditor(at);
  const { sessions } = await two.agent.request(to.list, { cwd: at.root });
  expect(sessions).toMatchObject([{ sessionId: session, cwd: at.root }]);
  await two.agent.request(to.load, { sessionId: session, cwd: at.root, mcpServers: [] });
  expect(two.text("user_message_chunk")).toBe("count todoshold door");
  // In the replay, each tool call is one update with its final status.
  expect(two.updates.filter(({ update }) => update.sessionUpdate === "tool_call_update")).toEqual([]);
  await two.sees("tool_call", ({ name, status }) => name === "count_todos" && status === "completed");
  await open(at, "door");
  await two.sees("agent_message_chunk", ({ content }) => content.type === "text" && content.text.includes("released"));
  expect(two.text("agent_message_chunk").match(/holding door/g)).toHaveLength(1);
});

it("closes a session that was never used, and keeps one that was", { tags: "slow" }, async () => {
  const at = await project();
  const editor = await acpEditor(at);
  const [used, unused] = [await editor.newSession(), await editor.newSession()];
  await editor.prompt(used, "hello");
  await editor.agent.request(to.close, { sessionId: used });
  await editor.agent.request(to.close, { sessionId: unused });
  const { sessions } = await at.json<{ sessions: { id: string }[] }>("ps");
  expect(sessions.map(({ id }) => id)).toEqual([used]);
  await editor.agent.request(to.resume, { sessionId: used, cwd: at.root, mcpServers: [] });
  expect((await editor.prompt(used, "again")).stopReason).toBe("end_turn");
});

it("selects agents by mode, by option and with --agent, until the first turn", { tags: "slow" }, async () => {
  const at = await project();
  const editor = await acpEditor(at, { args: ["--agent", "reviewer"] });
  const made = await editor.agent.request(to.new, { cwd: at.root, mcpServers: [] });
  expect(made.modes?.currentModeId).toBe("reviewer");
  const { sessionId } = made;
  await editor.agent.request(to.setMode, { sessionId, modeId: "robot" });
  await editor.sees("current_mode_update", ({ currentModeId }) => currentModeId === "robot");
  const set = await editor.agent.request(to.setConfigOption, { sessionId, configId: "agent", value: "reviewer" });
  expect(set.configOptions[0]).toMatchObject({ id: "agent", currentValue: "reviewer" });
  await editor.prompt(sessionId, "hello");
  const late = editor.agent.request(to.setMode, { sessionId, modeId: "robot" });
  await expect(late).rejects.toMatchObject({ code: -32602, message: expect.stringContaining("keeps its agent") });
  const unknown = editor.agent.request(to.load, { sessionId: "ses_none", cwd: at.root, mcpServers: [] });
  await expect(unknown).rejects.toMatchObject({ code: -32002 });
});

it("shows a model's usage, passes images on, forks, and changes the model between turns", {
  tags: "slow",
}, async () => {
  const models = await fakeModels(openaiChatWire, () => ({ text: "seen" }));
  const at = await aegisProject({ ".aegis.yaml": nativeConfig(models) });
  const editor = await acpEditor(at);
  const session = await editor.newSession();
  const image = { type: "image", data: png, mimeType: "image/png", uri: "file:///p/shot.png" } as const;
  const end = await editor.prompt(session, [{ type: "text", text: "what is this?" }, image]);
  expect(end).toMatchObject({ stopReason: "end_turn", usage: { outputTokens: expect.any(Number) } });
  expect(JSON.stringify(models.requests[0]?.body)).toContain(png);
  expect((await messagesOf(at, session)).at(-1)?.attachments).toMatchObject([{ name: "shot.png" }]);
  const fork = await editor.agent.request(to.fork, { sessionId: session, cwd: at.root, mcpServers: [] });
  expect(fork.sessionId).not.toBe(session);
  await editor.prompt(fork.sessionId, "in the fork");
  expect(JSON.stringify(models.requests.at(-1)?.body)).toContain("what is this?");
  const { configOptions } = await editor.agent.request(to.setConfigOption, {
    sessionId: session,
    configId: "model",
    value: "fake/other",
  });
  expect(configOptions[1]).toMatchObject({ id: "model", currentValue: "fake/other" });
  await editor.prompt(session, "again");
  expect(models.requests.at(-1)?.body.model).toBe("other");
  expect(JSON.stringify(models.requests.at(-1)?.body)).toContain("what is this?");
});

it("tells the editor when the daemon is killed during a prompt, and the session continues", {
  tags: "slow",
}, async () => {
  const at = await project();
  const editor = await acpEditor(at);
  const session = await editor.newSession();
  const held = editor.prompt(session, "hold door");
  await editor.sees(
    "agent_message_chunk",
    ({ content }) => content.type === "text" && content.text.includes("holding"),
  );
  const pid = await at.daemonPid();
  if (pid === null) throw new Error("no daemon runs");
  process.kill(pid, "SIGKILL");
  await editor.sees("agent_thought_chunk", ({ content }) => content.type === "text" && /daemon/.test(content.text));
  await waitUntil("another daemon runs", async () => ![null, pid].includes(await at.daemonPid()), 30_000);
  await open(at, "door");
  expect((await held).stopReason).toBe("end_turn");
  expect(editor.text("agent_message_chunk")).toContain("released door");
  expect((await editor.prompt(session, "and now?")).stopReason).toBe("end_turn");
});

it("shows a question as a form where the editor has forms, and as choices where it has none", {
  tags: "slow",
}, async () => {
  const at = await project();
  const form = await acpEditor(at, {
    capabilities: { elicitation: { form: {} } },
    elicit: () => ({ action: "accept", content: { answer: "left" } }),
  });
  await form.prompt(await form.newSession(), "ask me");
  expect(form.text("agent_message_chunk")).toMatch(/Answer: .*left/);
  const plain = await acpEditor(at, { decide: () => "right" });
  await plain.prompt(await plain.newSession(), "ask me");
  expect(plain.cards[0]?.request.options.map(({ optionId }) => optionId)).toEqual(["left", "right"]);
  expect(plain.text("agent_message_chunk")).toMatch(/Answer: .*right/);
});

async function messagesOf(at: AegisProject, session: string) {
  const file = await readDaemonFile(at.root);
  if (file === null) throw new Error("no daemon runs");
  return (await createClient(file).call("listMessages", { path: { session } })).messages;
}
