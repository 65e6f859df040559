/** Whichever command is the first in a folder, the state of the project stays the user's own. */
import { join } from "node:path";
import { judgeState } from "@aegis/project/state/judge.ts";
import { type AegisProject, aegisProject } from "@aegis/test/helpers/aegis.ts";
import { installFakeClis } from "@aegis/test/helpers/fake-clis.ts";
import { expect, it } from "vitest";

async function projectWithClis(): Promise<AegisProject> {
  const project = await aegisProject({});
  const bin = join(project.root, "..", "bin");
  await installFakeClis(bin);
  project.env.PATH = `${bin}:${project.env.PATH}`;
  return project;
}

/** Every command that may look at a project before a daemon has run there. */
const commands = [
  ["init", "--yes"],
  ["doctor"],
  ["audit"],
  ["status"],
  ["down"],
  ["ps"],
  ["trust", "--list"],
  ["state", "show"],
  ["agent", "validate"],
  ["agent", "new", "reviewer"],
  ["config", "show"],
  ["config", "set", "messages.max_hops", "5"],
  ["config", "agent", "add", "dev", "--harness", "claude-code"],
  ["plugin", "new", "greeter"],
  ["skill", "list"],
  ["mcp", "install"],
];

it.each(commands.map((argv) => ({ argv, line: argv.join(" ") })))("aegis $line", { tags: "slow" }, async ({ argv }) => {
  const project = await projectWithClis();
  await project.aegis(...argv);
  const verdict = await judgeState(project.root, project.env.HOME ?? "");
  expect(verdict.kind === "unknown" ? verdict.message : "").toBe("");
});

it("starts a daemon after init where every coding CLI is installed", async () => {
  const project = await projectWithClis();
  expect(await project.aegis("init", "--yes")).toMatchObject({ code: 0, stderr: "" });
  expect(await project.aegis("doctor")).toMatchObject({ stderr: "" });
  expect(await project.aegis("ps")).toMatchObject({ code: 0, stderr: "" });
});
