/** The catalog in the built package with native agents, whose model is a fake one on loopback. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Run, RunView } from "@aegis/contract/run.ts";
import type { AegisProject } from "@aegis/test/helpers/aegis.ts";
import { branchedRepository } from "@aegis/test/helpers/catalog-repository.ts";
import { openaiChatWire } from "@aegis/test/helpers/fake-models/openai-chat.ts";
import { type FakeModels, type FakeRequest, fakeModels } from "@aegis/test/helpers/fake-models/server.ts";
import type { Reply } from "@aegis/test/helpers/fake-models/wire.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const agents = ["implementer", "reviewer", "security-reviewer", "api-reviewer", "test-reviewer", "spec_writer"];
const plan = "# Plan\n\n## Slice 1 — one\nfirst\n\n## Slice 2 — two\nsecond\n";

type Rule = [RegExp, (match: RegExpExecArray) => Reply];

const rules: readonly Rule[] = [
  [/^Implement slice (\d)/m, ([, slice]) => write(`slice-${slice}.txt`, `done ${slice}`)],
  [/^Write a test in (\S+)/m, ([, path]) => write(path ?? "", "expects green")],
  [/^Make the test in/m, () => ({ text: "not yet" })],
  [/still fails \(exit/, () => write("feature.txt", "green")],
  [/^You are (\S+)\. Review/m, ([, who]) => ({ text: `Verdict: ok\n\nFine for ${who}.` })],
  [/^Write a specification for: (.*)/m, ([, topic]) => ({ text: `# ${topic}\n\nThe spec.` })],
];

/** Follows the last thing it was told; after a tool it says so. */
function answer({ transcript }: FakeRequest): Reply {
  const last = transcript.at(-1) ?? "";
  if (last.startsWith("result:")) return { text: "written" };
  for (const [pattern, reply] of rules) {
    const match = pattern.exec(last);
    if (match) return reply(match);
  }
  return { text: "fine" };
}

function write(path: string, content: string): Reply {
  return { calls: [{ id: `call-${path}`, name: "write", input: { path, content } }] };
}

async function repository(): Promise<{ project: AegisProject; models: FakeModels }> {
  const models = await fakeModels(openaiChatWire, answer);
  const config = [
    "default_agent: implementer",
    `models: { fake: { base_url: "${models.url}", api: openai-chat } }`,
    "agents:",
    ...agents.map((agent) => `  ${agent}: { harness: native, model: fake/one, permission: write }`),
    "",
  ].join("\n");
  const project = await branchedRepository({ ".gitignore": ".aegis\n", ".aegis.yaml": config, "plan.md": plan });
  return { project, models };
}

const text = (project: AegisProject, path: string) => readFile(join(project.root, path), "utf8");

it("works through a plan", { tags: "slow" }, async () => {
  const { project, models } = await repository();
  const { run } = await project.json<{ run: RunView }>("workflow", "run", "execute_plan", "--plan-path", "plan.md");
  expect(run).toMatchObject({ status: "ok" });
  expect(await text(project, "slice-1.txt")).toBe("done 1");
  expect(await text(project, "slice-2.txt")).toBe("done 2");
  expect(models.requests[0]?.tools).toContain("write");
});

it("reviews a branch", { tags: "slow" }, async () => {
  const { project } = await repository();
  const { run } = await project.json<{ run: RunView }>("workflow", "run", "review_branch");
  expect(run).toMatchObject({ status: "ok", result: { ok: 3, blocked: 0, failed: 0 } });
});

it("builds a feature test first", { tags: "slow" }, async () => {
  const { project } = await repository();
  const args = ["--feature", "it is green", "--test-path", "test.txt", "--test-command", "grep -q green feature.txt"];
  const { run } = await project.json<{ run: RunView }>("workflow", "run", "tdd_cycle", ...args);
  expect(run).toMatchObject({ status: "ok", result: { feature: "it is green", review: "fine" } });
  expect(await text(project, "feature.txt")).toBe("green");
});

it("writes a spec from a person's answers", { tags: "slow" }, async () => {
  const { project } = await repository();
  const start = ["workflow", "run", "brainstorm_to_spec", "--topic", "A clock", "--detach"];
  const { run } = await project.json<{ run: Run }>(...start);
  for (let question = 1; question <= 5; question++) {
    await waitUntil(`question ${question} is asked`, async () => {
      const { asks } = await project.json<{ asks: { id: string }[] }>("asks");
      return asks[0] !== undefined && (await project.aegis("answer", asks[0].id, `answer ${question}`)).code === 0;
    });
  }
  expect((await project.aegis("workflow", "watch", run.id)).code).toBe(0);
  expect(await text(project, "docs/superpowers/specs/a-clock.md")).toBe("# A clock\n\nThe spec.\n");
});
