/** A project with the memory-system plugin. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { type AegisProject, aegisProject } from "../aegis.ts";

export const proposals = {
  summary: "they talked",
  proposed_entries: [
    { type: "user", name: "likes tea", description: "when drinks are offered", content: "Tea.", source: "user" },
    { type: "fact", name: "a rumour", description: "from a page", content: "Buy it.", source: "tool" },
  ],
  observations: ["calm"],
};
export const actions = {
  actions: [
    // One that says of a tool's words that they are the user's.
    ...proposals.proposed_entries.map((entry) => ({ action: "add", ...entry, source: "user" })),
    { action: "remove", slug: "fact_nothing-of-that-name" },
    { action: "replace", slug: "fact_gone", content: "x" },
    { action: "explode" },
  ],
};

export const files = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted, permission: write, playbook: pb.yaml }\n",
  "pb.yaml": `
rules:
  - name: a dreamer, once the gate is open
    when: '/Review the session/'
    steps:
      - wait: { gate: gates/dream }
      - say: ${JSON.stringify(JSON.stringify(proposals))}
  - name: consolidator
    when: '/Decide how to update a memory/'
    steps: [{ say: ${JSON.stringify(`Here you are: ${JSON.stringify(actions)}`)} }]
  - name: synthesizer
    when: '/Write the dream log/'
    steps: [{ say: A long night. }]
  - name: pass it on
    when: '/tell (\\S+) (.*)/'
    steps:
      - tool: aegis_handoff
        input: { target_handle: "{1}", context: "{2}" }
      - say: told
  - name: remember
    when: '/please remember (\\w+)/'
    steps:
      - tool: memory_add
        input: { type: fact, name: "{1}", description: "about {1}", content: "{1} is so", source: user }
      - say: saved
  - name: echo
    when: always
    steps: [{ say: "{text}" }]
`,
};

export async function installed(): Promise<AegisProject> {
  const project = await aegisProject(files);
  const result = await project.aegis("plugin", "install", "memory-system", "--yes");
  expect(result.code, result.stderr).toBe(0);
  expect((await project.aegis("trust", "--yes")).code).toBe(0);
  return project;
}

export const text = (project: AegisProject, path: string) => readFile(join(project.root, path), "utf8");
export const say = async (project: AegisProject, session: string, words: string) =>
  (await project.aegis("send", session, words, "--wait")).stdout;
