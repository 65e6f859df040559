import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { expect, it } from "vitest";

const files = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted, permission: write }\n",
  "src/a.ts": "// TODO: one\n// TODO: two\n",
};

type Sessions = { sessions: { handle: string; state: string }[] };

it("answers on stdout, tells the rest on stderr, and leaves no session behind", async () => {
  const project = await aegisProject(files);
  const { code, stdout, stderr } = await project.aegis("run", "count todos");
  expect(code).toBe(0);
  expect(stdout).toContain("2 todos");
  expect(stdout.match(/2 todos/g)).toHaveLength(1);
  expect(stderr).toContain("(offline)");
  expect(stderr).toMatch(/→ .*todo/i);
  expect(stdout).not.toContain("\u001b");
  expect((await project.json<Sessions>("ps")).sessions).toEqual([]);
});

it("gives one object with --json, and reads the prompt from a pipe", { tags: "slow" }, async () => {
  const project = await aegisProject(files);
  const { stdout, stderr, code } = await project.pipe("count todos", "run", "--json");
  expect(code).toBe(0);
  const lines = stdout.trim().split("\n");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    session: expect.stringMatching(/^ses_/),
    handle: expect.any(String),
    reason: "completed",
    text: expect.stringContaining("2 todos"),
    usage: null,
    error: null,
  });
  expect(stderr).not.toContain("2 todos");
  expect((await project.pipe("  \n", "run")).code).toBe(2);
});

it("streams text as it is written", { tags: "slow" }, async () => {
  const project = await aegisProject(files);
  const running = project.start("run", "tell a slow story", "--keep");
  await running.shows("Once there was");
  expect(running.output.stdout).not.toContain("The end.");
  const { code, stdout, stderr } = await running.ended;
  expect(code).toBe(0);
  expect(stdout.match(/Once there was/g)).toHaveLength(1);
  expect(stdout.trimEnd().endsWith("The end.")).toBe(true);
  expect(stderr).toContain("aegis chat ");
  expect((await project.json<Sessions>("ps")).sessions).toMatchObject([{ state: "ready" }]);
});

it("interrupts the turn at Ctrl-C and at its time limit", { tags: "slow" }, async () => {
  const project = await aegisProject(files);
  const running = project.start("run", "tell a slow story");
  await running.shows("Once");
  running.child.kill("SIGINT");
  const stopped = await running.ended;
  expect(stopped.code).toBe(130);
  expect(stopped.stderr).toContain("interrupted");
  expect(stopped.stdout).not.toContain("The end.");

  const late = await project.aegis("run", "tell a slow story", "--timeout", "300ms", "--json");
  expect(late.code).toBe(1);
  expect(JSON.parse(late.stdout)).toMatchObject({ reason: "cancelled", error: { code: "timeout" } });
  expect((await project.json<Sessions>("ps")).sessions).toEqual([]);
});

it("fails with the typed end of a turn that failed, and what to do", async () => {
  const project = await aegisProject({
    ...files,
    "bad.yaml": "rules:\n  - name: break\n    when: always\n    steps:\n      - say: '{nothing}'\n",
    ".aegis.yaml": `${files[".aegis.yaml"]}  broken: { harness: scripted, playbook: bad.yaml }\n`,
  });
  const { code, stdout, stderr } = await project.aegis("run", "hello", "--agent", "broken", "--json");
  expect(code).toBe(1);
  const answer = JSON.parse(stdout) as { reason: string; error: { message: string; fix: string } };
  expect(answer.reason).toBe("failed");
  expect(stderr).toContain(answer.error.message);
  expect(stderr).toContain(answer.error.fix);
});
