/** The workflows whose runs are killed after each of their commits, and the project they run in. */

export type RunToCut = { workflow: string; args: Record<string, unknown> };

export const runsToCut: readonly RunToCut[] = [
  { workflow: "execute_plan", args: { plan_path: "plan.md", agent: "worker" } },
  { workflow: "brainstorm_to_spec", args: { topic: "A clock", spec_writer: "worker" } },
  { workflow: "review_branch", args: { base: "main", reviewers: ["worker", "worker"] } },
  {
    workflow: "tdd_cycle",
    args: { feature: "it is green", test_path: "test.txt", test_command: "grep -q green feature.txt" },
  },
  { workflow: "tricky", args: { skips: false } },
  { workflow: "tricky", args: { skips: true } },
  { workflow: "team", args: {} },
];

const config = `
default_agent: worker
agents:
  worker: { harness: scripted, permission: write, playbook: worker.yaml }
queues:
  work: { agent: worker, retries: 100 }
workflows:
  tdd_cycle: { implementer: worker, reviewer: worker }
`;

const playbook = `
rules:
  - name: a test
    when: '/^Write a test in (\\S+)/'
    steps: [{ tool: write_report, input: { path: "{1}", text: "expects green" } }, { say: written }]
  - name: after the feedback
    when: '/still fails|^repair it/'
    steps: [{ tool: write_report, input: { path: feature.txt, text: green } }, { say: repaired }]
  - name: a spec
    when: '/^Write a specification for: (.*)/'
    steps: [{ say: "# {1}\\n\\nThe spec." }]
  - name: a review
    when: '/^You are (\\S+)\\. Review/'
    steps: [{ say: "Verdict: ok\\n\\nFine." }]
  - name: a vote
    when: '/^objective: (.*)/m'
    steps: [{ say: "heard {1}" }]
  - name: anything else
    when: '/(.*)$/'
    steps: [{ say: "heard {1}" }]
`;

/** Everything that makes a run tricky: nested branches, agents, a task, a question, a pause, a check that fails at first. */
const plugin = `
import { workflow, z } from "aegis";

async function branches(engine) {
  engine.log("begins");
  return engine.parallel([
    async () => {
      const handle = await engine.spawn("worker");
      const first = await engine.send(handle, "one");
      return engine.send(handle, "two after " + first);
    },
    async () => (await engine.parallel([1, 2].map((n) => () => engine.step("inner", async () => String(n))))).join("+"),
    () => engine.delegate("work", "a task"),
  ]);
}

export const tricky = workflow("tricky", { input: z.object({ skips: z.boolean() }) }, async (engine, { skips }) => {
  const passed = skips ? await engine.resumeState() : null;
  const joined = passed?.joined ?? (await branches(engine));
  if ((passed?.stage ?? 0) < 1) await engine.checkpoint("joined", { stage: 1, joined });
  if ((passed?.stage ?? 0) < 2) {
    const choice = await engine.askHuman("Go on?", { options: ["yes", "no"] });
    await engine.sleep(0.005);
    await engine.checkpoint("chose " + choice, { stage: 2, joined });
  }
  const helper = await engine.spawn("worker");
  await engine.bashPredicate("echo x >> shell.log; test -f feature.txt", { retryWith: "repair it ({exit})", to: helper });
  engine.log("checked");
  return joined.slice(0, 2);
});

export const team = workflow("team", async (engine) => {
  const votes = await engine.parallel(
    ["left", "right"].map((name) => async () => {
      await engine.spawnGroup(name, ["worker", "worker"]);
      await engine.broadcast(name, { objective: "vote " + name, outputFormat: "one word" });
      const { combined } = await engine.waitAll(name, { reducer: "majority_vote", timeout: 60 });
      return combined;
    }),
  );
  await engine.checkpoint("voted", votes.length);
  await engine.broadcast("left", "again");
  const { by_member } = await engine.waitAll("left", { timeout: 60 });
  return { votes, again: Object.values(by_member).map((reply) => reply.text) };
});
`;

export const files: Readonly<Record<string, string>> = {
  ".gitignore": ".aegis\n",
  ".aegis.yaml": config,
  "worker.yaml": playbook,
  ".aegis/plugins/tricky.ts": plugin,
  "plan.md": "# Plan\n\n## Slice 1 — one\nfirst\n\n## Slice 2 — two\nsecond\n",
};
