import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject, offlineConfig } from "@aegis/test/helpers/aegis.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const plugin = `
import { workflow, z } from "aegis";

export const quick = workflow("quick", { input: z.object({ who: z.string() }) }, async (engine, { who }) => {
  engine.log("quick says " + who);
  await engine.checkpoint("said", { who });
  return { who };
});
export const many = workflow("many", async (engine) => {
  let sum = 0;
  for (let index = 0; index < 1000; index++) sum += await engine.step("add " + index, () => 1);
  return sum;
});
export const odd = workflow("odd", async (engine) => {
  const found = [];
  for (const payload of [{ deep: { f: () => 1 } }, [10n]]) {
    await engine.checkpoint("odd", payload).catch((error) => found.push(error.name + ": " + error.message));
  }
  await engine.step("odd step", () => new Map()).catch((error) => found.push(error.message));
  return found;
});
export const oddResult = workflow("odd_result", async (engine) => ({ inner: [new Map()] }));
`;

async function project(files: Record<string, string> = {}, options = {}) {
  return aegisProject({ ".aegis.yaml": offlineConfig, ".aegis/plugins/mine.ts": plugin, ...files }, options);
}

describe("aegis workflow", () => {
  it("says how runs are started, and what one workflow takes", { tags: "slow" }, async () => {
    const at = await project();
    const help = await at.aegis("workflow", "run", "--help");
    expect(help.code).toBe(0);
    for (const flag of ["--kwargs <json>", "--host <session>", "--detach"]) expect(help.stdout).toContain(flag);
    const nothing = await at.aegis("workflow", "run");
    expect(nothing.stderr).toContain("missing required argument 'workflow'\n  see aegis workflow run --help");
    const shown = await at.aegis("workflow", "run", "quick", "--help");
    expect(shown.stdout).toMatch(/--who <string> {2}\(required\)/);
    expect(shown.stdout).toContain("--detach");
    const missing = await at.aegis("workflow", "run", "quick");
    expect(missing).toMatchObject({ code: 2, stdout: "" });
    expect(missing.stderr).toContain("wrong arguments for quick: who is missing");
  });

  it("shows all of a run that is over at once, and only its result on stdout", { tags: "slow" }, async () => {
    const at = await project();
    const { code, stdout, stderr } = await at.aegis("workflow", "run", "quick", "--who", "Ann");
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"who":"Ann"}\n' });
    for (const text of ["quick says Ann", "reached said", "ended: ok"]) expect(stderr).toContain(text);
    const { run } = await at.json<{ run: { id: string; status: string } }>("workflow", "run", "quick", "--who", "Bob");
    expect(run.status).toBe("ok");
    const watched = await at.aegis("workflow", "watch", run.id.slice(-8));
    expect(watched).toMatchObject({ code: 0, stdout: '{"who":"Bob"}\n' });
  });

  it("keeps up with a run of many steps", { tags: "slow" }, async () => {
    const at = await project();
    const { run } = await at.json<{ run: { id: string } }>("workflow", "run", "many", "--detach");
    const watched = at.start("workflow", "watch", run.id);
    await waitUntil(
      "the run ends",
      async () => {
        const { run: now } = await at.json<{ run: { status: string } }>("workflow", "status", run.id);
        return now.status === "ok";
      },
      60_000,
    );
    const since = performance.now();
    expect((await watched.ended).stdout).toBe("1000\n");
    expect(performance.now() - since).toBeLessThan(scaled(5_000));
  });

  it("names the place of what is not JSON, also in a plugin", async () => {
    const at = await project();
    const { run } = await at.json<{ run: { result: string[] } }>("workflow", "run", "odd");
    expect(run.result).toMatchObject([
      expect.stringMatching(/^TypeError: the payload of checkpoint "odd"\.deep\.f is a function: expected JSON/),
      expect.stringMatching(/^TypeError: the payload of checkpoint "odd"\[0\] is a bigint: expected JSON/),
      expect.stringContaining('the result of "odd step" is a Map: expected JSON'),
    ]);
    const failed = await at.aegis("workflow", "run", "odd_result");
    expect(failed.stderr).toContain("TypeError: the result of odd_result.inner[0] is a Map: expected JSON");
  });

  it("names plugins that do not run when a workflow is not there", { tags: "slow" }, async () => {
    const at = await project({ ".aegis/plugins/broken.ts": "export const x = 1;\nthrow new Error('oh no');\n" });
    const unknown = await at.aegis("workflow", "run", "quik");
    expect(unknown.stderr).toContain('no workflow "quik" (did you mean "quick"?)');
    expect(unknown.stderr).toContain("plugin broken is failed: broken.ts:2: oh no");
    expect((await at.aegis("workflow", "list")).stderr).toContain("plugin broken is failed");
    const asleep = await project({}, { trusted: false });
    const refused = await asleep.aegis("workflow", "run", "quick", "--who", "me");
    expect(refused.stderr).toContain("plugin mine is untrusted");
    await writeFile(join(at.root, ".aegis/plugins/broken.ts"), "export const x = 1;\n");
    await waitUntil("it is repaired", async () => (await at.aegis("workflow", "list")).stderr === "", 20_000);
  });
});
