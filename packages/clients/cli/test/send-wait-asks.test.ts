/** `send --wait` without a terminal, while the session waits for a person. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

const files = { ".aegis.yaml": "agents:\n  careful: { harness: scripted, permission: auto }\n" };

it("names the ask that blocks it, and waits for it or not, as the caller wants", { tags: "slow" }, async () => {
  const project = await aegisProject(files);
  await project.aegis("spawn", "--handle", "brave-planck");
  const denied = await project.aegis("send", "brave-planck", "write a report", "--wait", "--no-ask");
  expect(denied.stderr).toMatch(/answer with: aegis answer ask_\w+ allow\|always\|deny/);
  expect(denied.stderr).toMatch(/the ask \w+ is over: .*deny/);
  expect(denied.code).toBe(0);

  const first = project.start("send", "brave-planck", "write a report", "--wait", "--json");
  await waitUntil("it is told on stderr", () => first.output.stderr.includes("answer with: aegis answer ask_"));
  const second = project.start("send", "brave-planck", "say hi", "--wait");
  await waitUntil("the earlier ask is told", () => second.output.stderr.includes("answer with: aegis answer ask_"));
  const third = await project.aegis("send", "brave-planck", "say more", "--wait", "--no-ask");
  expect(third.code).toBe(1);
  expect(third.stderr).toMatch(/brave-planck waits for a person to answer ask_\w+/);
  expect(third.stderr).toMatch(/the message msg_\w+ is kept/);

  expect((await project.aegis("answer", "brave-planck", "deny")).code).toBe(0);
  const { stdout, code } = await first.ended;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ handle: "brave-planck", reason: "completed" });
  expect((await second.ended).code).toBe(0);
});

it("shows what a subagent asks while it waits, and how that ended", { tags: "slow" }, async () => {
  const project = await aegisProject({
    ".aegis.yaml":
      "default_agent: boss\nagents:\n  boss: { harness: scripted, permission: auto, playbook: boss.yaml }\n  helper: { harness: scripted, permission: auto }\n",
    "boss.yaml": `
rules:
  - name: delegate
    when: '/^delegate/'
    steps:
      - { tool: sessions_spawn, input: { task: write a report, label: scout, agent_id: helper } }
      - { wait: { gate: gates/open } }
      - { say: delegated }
  - { name: anything else, when: always, steps: [{ say: noted }] }
`,
  });
  await project.aegis("spawn", "--handle", "brave-planck");
  await project.aegis("spawn", "--handle", "other");
  const waiting = project.start("send", "brave-planck", "delegate", "--wait");
  const unrelated = project.start("send", "other", "delegate nothing", "--wait");
  const asked = /answer with: aegis answer (ask_\w+) /;
  await waitUntil("both name their ask", () => [waiting, unrelated].every(({ output }) => asked.test(output.stderr)));
  const [id = "", foreign = ""] = [waiting, unrelated].map(({ output }) => asked.exec(output.stderr)?.[1] ?? "");
  expect(foreign).not.toBe(id);
  expect(waiting.output.stderr).not.toContain(foreign);
  // A second command finds the ask that is open already.
  const late = await project.aegis("send", "brave-planck", "hello", "--wait", "--no-ask");
  expect(late.code).toBe(1);
  expect(late.stderr).toContain(`waits for a person to answer ${id}`);
  expect((await project.aegis("answer", id, "deny")).code).toBe(0);
  await waitUntil("the end is shown", () => /the ask \w+ is over: .*deny/.test(waiting.output.stderr));
  await mkdir(join(project.root, "gates"));
  await writeFile(join(project.root, "gates/open"), "");
  expect((await waiting.ended).stdout).toContain("delegated");
  expect((await unrelated.ended).code).toBe(0);
});
