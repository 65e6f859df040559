/** Budgets in dollars over agents whose harness does not say what they cost, in the built daemon. */
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { waitUntil } from "../helpers/wait-until.ts";

/** Starts a subagent when it is told to and when one has ended; who has work does it, a million tokens long. */
function answer({ transcript }: FakeRequest): Reply {
  const last = transcript.at(-1) ?? "";
  if (last.startsWith("result:")) return { text: last };
  if (last.endsWith("work")) return { text: "worked", usage: { input: 0, output: 1_000_000 } };
  return { calls: [{ id: `call-${transcript.length}`, name: "sessions_spawn", input: { task: "work" } }] };
}

async function spent(more: string) {
  const models = await fakeModels(openaiChatWire, answer);
  const project = await aegisProject({
    ".aegis.yaml": nativeConfig(models, { more }),
  });
  await project.aegis("spawn", "dev", "--handle", "calm-moore", "-m", "begin");
  const said = async () => (await project.aegis("history", "calm-moore", "-n", "200", "--json")).stdout;
  return { ...project, said };
}

it("a tree of native agents is held to its budget by the prices of the project", async () => {
  const { aegis, said } = await spent(
    "subagents: { budget: { usd: 3 } }\nprices: { fake/one: { input: 1, output: 2 }, 'fake/*': { input: 9, output: 9 } }",
  );
  await waitUntil("a third one is refused", async () => (await said()).includes("US dollars"));
  expect(await said()).toContain("refused: your tree of agents has used up its budget: 4 of 3 US dollars");
  const { stdout } = await aegis("tree");
  expect(stdout).toMatch(/calm-moore {2}0 of 20 working, 2 of 200 open or started in 24 hours, \$4\.00 of \$3\.00$/m);
  expect((await aegis("agent", "list")).stderr).toBe("");
  expect((await aegis("doctor")).stdout).toMatch(/ok +agents +\d+ agents/);
});

it("the unknown cost of an agent is shown as unknown everywhere", { tags: "slow" }, async () => {
  const { aegis, said } = await spent("subagents: { budget: { usd: 3, spawns: 2 } }");
  await waitUntil("a third one is refused", async () =>
    (await said()).includes("agents that are open, wait or were started"),
  );
  expect((await aegis("tree")).stdout).toMatch(
    /calm-moore .*2 of 2 open or started in 24 hours, \$0\.00 of \$3\.00 and 2 turns of unknown cost$/m,
  );
  const why =
    "budgets in dollars (subagents.budget.usd) do not count all that it spends: native does not say what fake/one costs, and prices has no entry for it";
  expect((await aegis("agent", "list")).stderr).toContain(`${why} (also: `);
  for (const agent of ["dev", "explorer"])
    expect((await aegis("agent", "show", agent)).stdout.replaceAll(/\s+/g, " ")).toContain(why);
  expect((await aegis("agent", "show", "offline")).stdout).not.toContain("budgets in dollars");
  expect((await aegis("logs")).stdout).toContain(why);
  expect((await aegis("doctor")).stdout).toContain(why);
  await aegis("down");
  expect((await aegis("doctor")).stdout).toContain(why);
});

it("run --json counts what the agents used that worked for the answer", { tags: "slow" }, async () => {
  const delegate = (request: FakeRequest): Reply => {
    const { calls } = answer(request);
    if (calls === undefined) return answer(request);
    return { calls: [{ id: "call-1", name: "agent", input: { agent_name: "dev", task_prompt: "work" } }] };
  };
  const models = await fakeModels(openaiChatWire, delegate);
  const more = "prices: { fake/one: { input: 0, output: 2 } }";
  const { json } = await aegisProject({ ".aegis.yaml": nativeConfig(models, { more }) });
  const { usage, children, total } = await json<{
    usage: { output: number; cost: number };
    children: Record<string, number>;
    total: { output_tokens: number; cost: number };
  }>("run", "begin");
  expect(children).toMatchObject({ pooled: 1, output_tokens: 1_000_000, cost: 2, untold: 0 });
  expect(total.output_tokens).toBe(1_000_000 + usage.output);
  expect(total.cost).toBeCloseTo(2 + usage.cost);
});
