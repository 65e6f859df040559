/** A repository for the workflows of the catalog. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AegisProject } from "../aegis.ts";
import { branchedRepository } from "../catalog-repository.ts";
import { waitUntil } from "../wait-until.ts";

export const agents = ["implementer", "reviewer", "security-reviewer", "api-reviewer", "test-reviewer", "spec_writer"];
export const files = {
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

export function repository(): Promise<AegisProject> {
  return branchedRepository({ ...files, "gates/1": "", "gates/3": "" });
}

export async function killDaemon(project: AegisProject): Promise<void> {
  const pid = await project.daemonPid();
  if (pid === null) throw new Error("no daemon");
  process.kill(pid, "SIGKILL");
  await waitUntil("the daemon is gone", async () => (await project.daemonPid()) === null);
}

export const text = (project: AegisProject, path: string) => readFile(join(project.root, path), "utf8");
