// @module-tag slow
/** `send --wait` while the daemon ends and another one begins. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject, stopDaemon } from "@aegis/test/helpers/aegis.ts";
import { expect, it } from "vitest";

const files = {
  ".aegis.yaml": "agents:\n  dev: { harness: scripted, playbook: slow.yaml }\n",
  "slow.yaml":
    "rules:\n  - { name: slow, when: always, steps: [{ say: begun }, { wait: { gate: gates/open } }, { say: over }] }\n",
};

it("is not over with a turn that a crash has ended: the next turn answers the message", async () => {
  const project = await aegisProject(files);
  await project.aegis("spawn", "--handle", "brave-planck");
  const waiting = project.start("send", "brave-planck", "hello", "--wait");
  await waiting.shows("begun");
  await stopDaemon(project.root);
  await mkdir(join(project.root, "gates"));
  await writeFile(join(project.root, "gates/open"), "");
  expect((await project.aegis("up")).code).toBe(0);
  const { stdout, code } = await waiting.ended;
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n").at(-1)).toBe("over");
});
