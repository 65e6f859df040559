/** Projects in git whose offline agent writes the files that messages name. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** `write <file> <text>`, `write <file> <text> then hold <gate>`, `review <session>`. */
export const writingAgent = {
  ".aegis.yaml":
    "default_agent: dev\nagents:\n  dev: { harness: scripted, permission: write, playbook: playbook.yaml }\n",
  ".gitignore": "gates/\n.aegis/\n",
  "playbook.yaml": `
rules:
  - name: write, then hold
    when: '/^write (\\S+) (\\S+) then hold (\\S+)/'
    steps:
      - { tool: write_report, input: { path: "{1}", text: "{2}\\n" } }
      - { say: "holding {3}" }
      - { wait: { gate: "gates/{3}" } }
      - { say: "released" }
  - name: write
    when: '/^write (\\S+) (.+)/'
    steps: [{ tool: write_report, input: { path: "{1}", text: "{2}\\n" } }, { say: "wrote {1}" }]
  - name: hold
    when: '/^hold (\\S+)/'
    steps: [{ say: "holding {1}" }, { wait: { gate: "gates/{1}" } }, { say: "released" }]
  - name: review
    when: '/^review (\\S+)/'
    steps: [{ tool: aegis_changes, input: { session: "{1}", patch: true }, save: seen }, { say: "{seen}" }]
  - name: anything else
    when: always
    steps: [{ say: "you said: {text}" }]
`,
};

export type Git = (...args: string[]) => Promise<string>;

/** Makes the folder a repository with one commit of everything in it. */
export async function initGit(dir: string): Promise<Git> {
  const names = ["AUTHOR", "COMMITTER"].flatMap((who) => [
    [`GIT_${who}_NAME`, "a"],
    [`GIT_${who}_EMAIL`, "a@example.com"],
  ]);
  const env = { PATH: process.env.PATH ?? "", HOME: dir, GIT_CONFIG_NOSYSTEM: "1", ...Object.fromEntries(names) };
  const git: Git = async (...args) => (await run("git", args, { cwd: dir, env })).stdout.trimEnd();
  await git("init", "-q", "-b", "main");
  await git("add", "-A");
  await git("commit", "-q", "-m", "first");
  return git;
}
