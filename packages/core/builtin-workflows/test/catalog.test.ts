/** The catalog in the built package, on a small git repository, with agents that follow a script. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Run, RunView } from "@aegis/contract/run.ts";
import { branchedRepository } from "@aegis/test/helpers/catalog-repository.ts";
import { files, repository, text } from "@aegis/test/helpers/projects/catalog.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

it("reviews a branch side by side and says who failed", { tags: "slow" }, async () => {
  const project = await repository();
  const { run } = await project.json<{ run: RunView }>("workflow", "run", "review_branch", "--base", "main");
  expect(run).toMatchObject({
    status: "ok",
    result: { summary: "1 review ok, 1 blocked, 1 failed", ok: 1, blocked: 1, unclear: 0, failed: 1 },
  });
  const report = await text(project, (run.result as { report: string }).report);
  expect(report).toContain("| security-reviewer | ok |\n| api-reviewer | blocked |\n| test-reviewer | failed |");
  expect(report).toContain("## api-reviewer\n\nVerdict: block\n\nnew.txt:1 breaks the contract.");
  expect(report).toContain("out of tokens");
  expect((await project.json<{ sessions: unknown[] }>("ps")).sessions).toEqual([]);
  const same = await project.aegis("workflow", "run", "review_branch", "--base", "feature");
  expect(same).toMatchObject({ code: 1, stderr: expect.stringContaining("there is nothing to review") });
});

it("reviews a branch without running what the repository's own settings name", { tags: "slow" }, async () => {
  const project = await repository();
  const git = (...args: string[]) => execFileSync("git", args, { cwd: project.root, env: project.env });
  git("config", "diff.external", "touch external; true");
  git("config", "core.fsmonitor", "touch monitored; false");
  git("config", "diff.evil.textconv", "touch converted; cat");
  git("config", "core.attributesFile", join(project.root, "attributes"));
  await writeFile(join(project.root, "attributes"), "* diff=evil\n");
  const { run } = await project.json<{ run: RunView }>("workflow", "run", "review_branch", "--base", "main");
  expect(run).toMatchObject({ status: "ok" });
  for (const mark of ["external", "monitored", "converted"]) expect(existsSync(join(project.root, mark))).toBe(false);
});

it("builds a feature test first, with feedback until the test passes", { tags: "slow" }, async () => {
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

it("says what is wrong with a name, an argument or a plan", { tags: "slow" }, async () => {
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

it("takes what the project sets for a workflow, and says what it cannot set", { tags: "slow" }, async () => {
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
      'workflows.review_branch.reviewer is not a setting of this workflow (did you mean "reviewers"?)',
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
