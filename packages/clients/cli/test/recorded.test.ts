/** What turns have recorded is shown: usage, context, whole answers, edits; by the built command. */

import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { nodeCell } from "@aegis/test/helpers/cluster.ts";
import { nativeConfig } from "@aegis/test/helpers/fake-models/config.ts";
import { openaiChatWire } from "@aegis/test/helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "@aegis/test/helpers/fake-models/server.ts";
import type { Reply } from "@aegis/test/helpers/fake-models/wire.ts";
import { expect, it } from "vitest";

const longAnswer = Array.from({ length: 60 }, (_, line) => `line ${line} of a long answer`).join("\n");

function answer({ transcript }: FakeRequest): Reply {
  const last = transcript.at(-1) ?? "";
  if (last.endsWith("spoil"))
    return { calls: [{ id: `call-${transcript.length}`, name: "write", input: { path: "b.txt", content: "new\n" } }] };
  if (last.endsWith("edit"))
    return { calls: [{ id: `call-${transcript.length}`, name: "write", input: { path: "a.txt", content: "new\n" } }] };
  if (last.endsWith("long")) return { text: longAnswer, usage: { input: 1_200, output: 340 } };
  return { text: "short", usage: { input: 1_000, output: 10 } };
}

async function talked() {
  const models = await fakeModels(openaiChatWire, answer);
  const project = await aegisProject({
    ".aegis.yaml": nativeConfig(models, { more: "prices: { 'fake/*': { input: 1000, output: 1000 } }" }),
    "b.txt": "old\n",
  });
  await project.aegis("spawn", "dev", "--handle", "ada");
  return project;
}

it("shows tokens, cost and context of sessions and turns, and a dash for what is not recorded", async () => {
  const { aegis, json, pipe } = await talked();
  expect((await aegis("ps")).stdout).toMatch(
    new RegExp(`^- +dev \\(native\\)${nodeCell} +ready +- +- +- +- +- +.* ada$`, "m"),
  );
  expect((await aegis("status")).stdout).toMatch(/^used +-$/m);
  await aegis("send", "ada", "long", "--wait");
  await aegis("send", "ada", "hello", "--wait");
  const { sessions } = await json<{ sessions: { usage: object; context: { used: number } }[] }>("ps");
  expect(sessions[0]).toMatchObject({
    usage: { turns: 2, input: 2_200, output: 350, cost: 2.55, cost_unknown: 0 },
    context: { used: expect.any(Number) },
    agent_problem: null,
  });
  const table = (await aegis("ps")).stdout;
  expect(table).toMatch(/TOKENS +COST/);
  expect(table).toMatch(new RegExp(`^long +dev \\(native\\)${nodeCell} +ready +.*2\\.2k/350 +\\$2\\.55 +.* ada$`, "m"));
  expect((await aegis("status")).stdout).toMatch(/^used +2\.2k tokens in, 350 out, \$2\.55$/m);
  expect(await json("status")).toMatchObject({ usage: { turns: 2, cost: 2.55 } });
  const history = await aegis("history", "ada");
  expect(history.stdout).toContain("turn completed (1.2k tokens in, 340 out, $1.54)");
  expect(history.stderr).toMatch(/used so far: 2\.2k tokens in, 350 out, \$2\.55, context \d/);
  const chat = await pipe("hello\n", "chat", "ada");
  expect(chat.stdout + chat.stderr).toMatch(/· 1k tokens in, 10 out, \$1\.01, context \d/);
});

it("gives an answer again whole, and the whole history with tool results", { tags: "slow" }, async () => {
  const { aegis, json } = await talked();
  await aegis("send", "ada", "long", "--wait");
  await aegis("send", "ada", "edit", "--wait");
  expect((await aegis("history", "ada", "--turn", "1")).stdout).toBe(`${longAnswer}\n`);
  const last = await aegis("history", "ada", "--turn", "last");
  expect(last).toMatchObject({ code: 0, stdout: "short\n" });
  expect(await json("history", "ada", "--turn", "1")).toMatchObject({
    turn: { text: longAnswer, reason: "completed" },
  });
  const none = await aegis("history", "ada", "--turn", "3");
  expect(none.code).toBe(1);
  expect(none.stderr).toContain("it has the turns 1 to 2");
  expect((await aegis("history", "ada", "--turn", "first")).code).toBe(2);
  const full = (await aegis("history", "ada", "--full")).stdout;
  for (const line of longAnswer.split("\n")) expect(full).toContain(`  ${line}\n`);
  expect(full).toContain("← result:");
  expect(full).toContain('"content": "new\\n"');
  const turn = (await aegis("history", "ada", "--turn", "2", "--full")).stdout;
  expect(turn).toContain("→ write");
  expect(turn).not.toContain("long answer");
});

it("shows the edits that turns have recorded, and says when there is none", { tags: "slow" }, async () => {
  const { aegis, json } = await talked();
  await aegis("send", "ada", "hello", "--wait");
  expect((await aegis("changes", "ada")).stdout).toBe("No edits of ada are recorded.\n");
  expect(await json("changes", "ada")).toMatchObject({ handle: "ada", changes: [] });
  await aegis("send", "ada", "edit", "--wait");
  const { code, stdout, stderr } = await aegis("changes", "ada");
  expect(code).toBe(0);
  expect(stdout).toContain("a.txt  turn 2, write");
  expect(stdout).toMatch(/^\+new$/m);
  expect(stderr).toContain("shell commands");
  expect(await json("changes", "ada")).toMatchObject({
    changes: [{ turn_number: 2, tool: "write", status: "made", diff: { before: null, after: "new\n" } }],
  });
  // The tool refuses to replace a file that was not read.
  await aegis("send", "ada", "spoil", "--wait");
  const more = await aegis("changes", "ada");
  expect(more.stdout).not.toContain("b.txt");
  expect(more.stderr).toContain("1 edit failed and changed nothing");
});

it("starts nothing for ps and asks where no project is", async () => {
  const project = await aegisProject({});
  for (const [command, empty] of [
    ["ps", { sessions: [] }],
    ["asks", { asks: [] }],
  ] as const) {
    const shown = await project.aegis(command);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toContain("No project here, so no daemon was started.");
    expect(await project.json(command)).toEqual(empty);
  }
  expect(await project.daemonPid()).toBeNull();
});

it("lists the sessions of all projects of the user, starts none, and names those that do not run", {
  tags: "slow",
}, async () => {
  const project = await aegisProject();
  expect(await project.json("ps", "--all-projects")).toEqual({ projects: [] });
  expect(await project.daemonPid()).toBeNull();
  await project.aegis("spawn", "--handle", "ada");
  const found = await project.json("ps", "--all-projects");
  expect(found).toMatchObject({
    projects: [{ project: project.root, state: "running", problem: null, sessions: [{ handle: "ada" }] }],
  });
  const text = (await project.aegis("ps", "--all-projects")).stdout;
  expect(text).toContain(`${project.root}  running`);
  expect(text).toMatch(/dev .* ada$/m);
  await project.aegis("down");
  expect((await project.aegis("ps", "--all-projects")).stdout).toBe(`${project.root}  stopped\n`);
  expect(await project.daemonPid()).toBeNull();
});
