/** A plugin that changes while its workflow runs. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Run } from "@aegis/contract/run.ts";
import { describe, expect, it } from "vitest";
import {
  asked,
  changed,
  detached,
  effects,
  file,
  long,
  untilStatus,
  view,
  withPlugin,
} from "../helpers/projects/flows.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

describe("a plugin that changes while its workflow runs", { timeout: scaled(60_000) }, () => {
  it("parks the run that its new code does not fit, and goes on as its user chooses", { tags: "slow" }, async () => {
    const project = await withPlugin(long);
    const run = await detached(project, "long");
    await asked(project);
    await writeFile(join(project.root, file), changed);
    const parked = await untilStatus(project, run, "parked");
    expect(parked.parked).toMatchObject({ reason: "diverged" });
    expect(parked.parked?.recorded).toContain("echo second");
    expect(parked.parked?.asked).toContain("echo other");
    const short = run.slice(-8);
    const { stdout } = await project.aegis("workflow", "status", run);
    for (const choice of [`resume ${short} --force`, `cancel ${short}`, `fork ${short}`])
      expect(stdout).toContain(`aegis workflow ${choice}`);
    expect(await effects(project)).toEqual(["first", "second"]);

    const { run: fork } = await project.json<{ run: Run }>("workflow", "fork", run);
    expect(fork).toMatchObject({ forked_from: run });
    await waitUntil("the fork asks", async () => (await view(project, fork.id)).asks.length === 1);
    expect(await effects(project)).toEqual(["first", "second", "other"]);
    expect((await project.aegis("workflow", "cancel", fork.id)).code).toBe(0);

    await project.aegis("workflow", "resume", run, "--force");
    await waitUntil("the run asks again", async () => (await view(project, run)).asks.length === 1);
    expect(await effects(project)).toEqual(["first", "second", "other", "other"]);
    expect((await project.aegis("answer", await asked(project), "yes")).code).toBe(0);
    expect(await untilStatus(project, run, "ok")).toMatchObject({ result: "new yes" });
  });

  it("lets the run wait while it is gone, and go on with its question when it is back", { tags: "slow" }, async () => {
    const project = await withPlugin(long);
    const run = await detached(project, "long");
    const ask = await asked(project);
    expect((await project.aegis("workflow", "status")).stdout).toMatch(/^\? +long .* awaiting reply /m);
    await rm(join(project.root, file));
    expect((await untilStatus(project, run, "parked")).parked).toMatchObject({ reason: "missing" });
    await writeFile(join(project.root, file), long);
    await untilStatus(project, run, "running");
    expect(await asked(project)).toBe(ask);
    await project.aegis("answer", ask, "yes");
    expect(await untilStatus(project, run, "ok")).toMatchObject({ result: "old yes" });
    expect(await effects(project)).toEqual(["first", "second"]);
  });
});
