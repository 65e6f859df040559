import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLogger } from "@aegis/lib/log.ts";
import { workflow } from "@aegis/plugin-api/workflow.ts";
import { completed, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { createLedgers } from "../src/ledger.ts";

it("is whole again after a start, whatever became of its last line, and nothing is read from it", async () => {
  const dir = await tempDir();
  const driver = testDriver(async function* () {
    yield completed;
  });
  const { store, workflows } = await testRuntime(dir, driver);
  const options = { store, dir, log: silentLogger };
  const first = await createLedgers(options);
  await workflows.launch();
  workflows.add(
    workflow("work", async (engine) => {
      await engine.checkpoint("half", { n: 1 });
      return "done";
    }),
    "a test",
  );
  const { id } = await workflows.start({ workflow: "work" });
  await waitUntil("it ends", async () => (await workflows.runs.find(id)).status === "ok");
  await first.close();
  const path = join(dir, id, "ledger.jsonl");
  const whole = await readFile(path, "utf8");
  const entries = whole.trimEnd().split("\n");
  expect(entries.map((line) => JSON.parse(line))).toMatchObject([
    { kind: "checkpoint", name: "half", payload: { n: 1 } },
    { kind: "finished", result: "done" },
  ]);
  for (const spoil of [() => truncate(path, whole.length - 7), () => writeFile(path, '{"kind":"checkpoint","pay')]) {
    await spoil();
    expect((await workflows.runs.find(id)).result).toBe("done");
    await (await createLedgers(options)).close();
    expect(await readFile(path, "utf8")).toBe(whole);
  }
});
