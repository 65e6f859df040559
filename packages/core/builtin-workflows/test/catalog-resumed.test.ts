/** Workflows of the catalog through kill -9. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Run, RunView } from "@aegis/contract/run.ts";
import { killDaemon, repository, text } from "@aegis/test/helpers/projects/catalog.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

it("asks five questions, each once also through kill -9, and has the spec written", { tags: "slow" }, async () => {
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

it("goes on with the next unfinished slice after kill -9, and sends nothing twice", { tags: "slow" }, async () => {
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
  await waitUntil("slice 2 is running", async () =>
    (await view()).open.some((step) => step.label.includes("slice 2 of 3")),
  );
  await killDaemon(project);
  const resumed = await project.aegis("--resume");
  expect(resumed.stdout).toContain(`execute_plan ${run.id.slice(-8)} was resumed after slice 1 — one: running`);
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
