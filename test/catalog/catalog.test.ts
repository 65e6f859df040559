/** The catalog in the built package, on a small git repository, with agents that follow a script. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Run, RunView } from "../../src/contract/run.ts";
import type { AegisProject } from "../helpers/aegis.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { branchedRepository } from "./repository.ts";

const agents = ["implementer", "reviewer", "security-reviewer", "api-reviewer", "test-reviewer", "spec_writer"];
const files = {
  ".gitignore": ".aegis\n",
  ".aegis.yaml": `default_agent: implementer\nagents:\n${agents
    .map((agent) => `  ${agent}: { harness: scripted, permission: write, playbook: playbook.yaml }\n`)
    .join("")}`,
  "plan.md": "# Plan\n\n## Slice 1 — one\nfirst\n\n## Slice 2 — two\nsecond\n\n## Slice 3 — three\n",
  "playbook.yaml": `
rules:
  - name: a slice, when its gate is open
    when: '/^Implement slice (\\d+)/'
    steps:
      - wait: { gate: "gates/{1}" }
      - tool: write_report
        input: { path: "slice-{1}.txt", text: "done {1}" }
      - say: "slice {1} is done"
  - name: test
    when: '/^Write a test in (\\S+)/'
    steps:
      - tool: write_report
        input: { path: "{1}", text: "expects green" }
      - say: written
  - name: not at first
    when: '/^Make the test in/'
    steps: [{ say: "not yet" }]
  - name: after the feedback
    when: '/still fails \\(exit (\\d)\\)/'
    steps:
      - tool: write_report
        input: { path: feature.txt, text: "green" }
      - say: "now"
  - name: block
    when: '/^You are api-reviewer/'
    steps: [{ say: "Verdict: block\\n\\nnew.txt:1 breaks the contract." }]
  - name: fail
    when: '/^You are test-reviewer/'
    steps: [{ fail: "out of tokens" }]
  - name: no verdict
    when: '/^You are reviewer/'
    steps: [{ say: "Looks like a branch. The verdict: ok is for others to give." }]
  - name: review
    when: '/^You are (\\S+)\\. Review/'
    steps: [{ say: "Verdict: ok\\n\\nFine for {1}." }]
  - name: spec
    when: '/^Write a specification for: (.*)/'
    steps: [{ say: "# {1}\\n\\nThe spec." }]
  - name: other
    when: always
    steps: [{ say: "fine" }]
`,
};

function repository(): Promise<AegisProject> {
  return branchedRepository({ ...files, "gates/1": "", "gates/3": "" });
}

async function killDaemon(project: AegisProject): Promise<void> {
  const pid = await project.daemonPid();
  if (pid === null) throw new Error("no daemon");
  process.kill(pid, "SIGKILL");
  await waitUntil("the daemon is gone", async () => (await project.daemonPid()) === null);
}

const text = (project: AegisProject, path: string) => readFile(join(project.root, path), "utf8");

it("reviews a branch side by side and says who failed", async () => {
  const project = await repository();
  const { run } = await project.json<{ run: RunView }>("workflow", "run", "review_branch", "--base", "main");
  expect(run).toMatchObject({ status: "ok", result: { ok: 1, blocked: 1, unclear: 0, failed: 1 } });
  const report = await text(project, (run.result as { report: string }).report);
  expect(report).toContain("| security-reviewer | ok |\n| api-reviewer | blocked |\n| test-reviewer | failed |");
  expect(report).toContain("## api-reviewer\n\nVerdict: block\n\nnew.txt:1 breaks the contract.");
  expect(report).toContain("out of tokens");
  expect((await project.json<{ sessions: unknown[] }>("ps")).sessions).toEqual([]);
  const same = await project.aegis("workflow", "run", "review_branch", "--base", "feature");
  expect(same).toMatchObject({ code: 1, stderr: expect.stringContaining("there is nothing to review") });
});

it("builds a feature test first, with feedback until the test passes", async () => {
  const project = await repository();
  const args = ["--feature", "it is green", "--test-path", "test.txt", "--test-command", "grep -q green feature.txt"];
  const shown = await project.aegis("workflow", "run", "tdd_cycle", ...args);
  expect(shown.code, shown.stderr).toBe(0);
  expect(JSON.parse(shown.stdout)).toEqual({ feature: "it is green", test_path: "test.txt", review: "fine" });
  expect(shown.stderr).toContain("reached red: the test fails");
  const [run] = (await project.json<{ runs: Run[] }>("workflow", "status")).runs;
  const ledger = (await text(project, `.aegis/state/${run?.id}/ledger.jsonl`))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(ledger.map((entry) => entry.kind)).toEqual(["checkpoint", "checkpoint", "finished"]);
  expect(JSON.parse(await text(project, `.aegis/state/${run?.id}/meta.json`))).toMatchObject({
    name: "tdd_cycle",
    host: null,
  });
  expect(await text(project, `.aegis/state/workflows/${run?.id}.jsonl`)).toContain('"run.ended"');
  const logs = await project.aegis("workflow", "logs", run?.id.slice(-8) ?? "");
  expect(logs.stdout).toContain("✓ green: the test passes");
});

it("asks five questions, each once also through kill -9, and has the spec written", async () => {
  const project = await repository();
  const { run } = await project.json<{ run: Run }>(
    "workflow",
    "run",
    "brainstorm_to_spec",
    "--topic",
    "A clock",
    "--detach",
  );
  for (let question = 1; question <= 5; question++) {
    await waitUntil(`question ${question} is asked`, async () => {
      const { asks } = await project.json<{ asks: { id: string }[] }>("asks");
      return asks[0] !== undefined && (await project.aegis("answer", asks[0].id, `answer ${question}`)).code === 0;
    });
    if (question === 2) await killDaemon(project);
  }
  expect((await project.aegis("workflow", "watch", run.id)).code).toBe(0);
  const { steps } = await project.json<{ steps: { method: string }[] }>("workflow", "history", run.id);
  expect(steps.filter((step) => step.method === "askHuman")).toHaveLength(5);
  expect(await text(project, "docs/superpowers/specs/a-clock.md")).toBe("# A clock\n\nThe spec.\n");
});

it("goes on with the next unfinished slice after kill -9, and sends nothing twice", async () => {
  const project = await repository();
  const { run } = await project.json<{ run: Run }>(
    "workflow",
    "run",
    "execute_plan",
    "--plan-path",
    "plan.md",
    "--detach",
  );
  const view = async () => (await project.json<{ run: RunView }>("workflow", "status", run.id)).run;
  await waitUntil("slice 2 is under way", async () =>
    (await view()).open.some((step) => step.label.includes("slice 2 of 3")),
  );
  await killDaemon(project);
  const resumed = await project.aegis("--resume");
  expect(resumed.stdout).toContain(`execute_plan ${run.id.slice(-8)} was taken up again after slice 1 — one: running`);
  await writeFile(join(project.root, "gates", "2"), "");
  expect((await project.aegis("workflow", "watch", run.id)).code).toBe(0);
  expect(await view()).toMatchObject({ status: "ok", resumes: 1, epoch: 3 });
  const { steps } = await project.json<{ steps: { method: string; label: string; status: string }[] }>(
    "workflow",
    "history",
    run.id,
  );
  const sent = steps.filter((step) => step.method === "send").map((step) => step.label);
  expect(sent.map((label) => /slice \d/.exec(label)?.[0])).toEqual(["slice 1", "slice 2", "slice 3"]);
  expect((await project.json<{ sessions: unknown[] }>("ps")).sessions).toEqual([]);
  expect(await text(project, "slice-3.txt")).toBe("done 3");
});

it("says what is wrong with a name, an argument or a plan", async () => {
  const project = await repository();
  const shows = async (words: string[], message: string, code: number) => {
    const result = await project.aegis("workflow", "run", ...words);
    expect(result.stderr, words.join(" ")).toContain(message);
    expect(result.code, words.join(" ")).toBe(code);
  };
  await shows(["tdd_cicle"], 'no workflow "tdd_cicle" (did you mean "tdd_cycle"?)', 1);
  await shows(["execute_plan"], "wrong arguments for execute_plan: plan_path", 2);
  await shows(["execute_plan", "--plan-paht", "x"], 'unknown argument "plan_paht" (did you mean "plan_path"?)', 2);
  await shows(["execute_plan", "--kwargs", "{"], "--kwargs is not JSON", 2);
  await shows(["execute_plan", "--kwargs", '{"plan_path": 3}'], "plan_path", 2);
  await shows(["execute_plan", "--plan-path", "missing.md"], "WorkflowError: cannot read missing.md", 1);
  await shows(["execute_plan", "--plan-path", ".gitignore"], ".gitignore has no slices", 1);
  const help = await project.aegis("workflow", "run", "execute_plan", "--help");
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining("--plan-path <string>") });
});

it("takes what the project sets for a workflow, and says what it cannot set", async () => {
  const config = (settings: string) => `${files[".aegis.yaml"]}workflows:\n  review_branch: ${settings}\n`;
  const project = await branchedRepository({
    ...files,
    ".aegis.yaml": config("{ reviewers: [reviewer], report_dir: notes }"),
  });
  const { run } = await project.json<{ run: RunView }>("workflow", "run", "review_branch");
  expect(run).toMatchObject({ status: "ok", result: { ok: 0, blocked: 0, unclear: 1, failed: 0 } });
  expect((run.result as { report: string }).report).toMatch(/^notes\//);
  for (const [settings, message] of [
    [
      "{ reviewer: [x] }",
      'workflows.review_branch.reviewer is no setting of this workflow (did you mean "reviewers"?)',
    ],
    ["{ reviewers: one }", "workflows.review_branch.reviewers: expected a list, found text"],
  ]) {
    await writeFile(join(project.root, ".aegis.yaml"), config(settings ?? ""));
    await waitUntil("the new settings count", async () => {
      const refused = await project.aegis("workflow", "run", "review_branch");
      return refused.code === 2 && refused.stderr.includes(message ?? "");
    });
  }
});
