import { appendFile, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { readJsonl } from "@aegis/lib/jsonl.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createRedactor } from "@aegis/lib/redact.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it, onTestFinished } from "vitest";
import { createToolMirror } from "../src/tool-mirror.ts";

const session = newId("ses", 0);

async function setUp() {
  const root = await tempDir();
  const store = await openSqliteStore({ path: join(root, "aegis.db"), clock: systemClock, log: silentLogger });
  onTestFinished(() => store.close());
  const dir = join(root, "tools");
  return {
    dir,
    open: (maxBytes?: number) =>
      createToolMirror({
        store,
        dir,
        redact: createRedactor(["hunter2-secret"]),
        log: silentLogger,
        ...(maxBytes === undefined ? {} : { maxBytes }),
      }),
    async called(...calls: [tool: string, input: string][]) {
      await store.transact(async (tx) => {
        for (const [tool, input] of calls) {
          const data = { tool, outcome: "ok" as const, duration_ms: 3, input, error: null };
          await tx.events.append({ type: "tool.called", session, data }, 1);
        }
      });
    },
    async inputs(file: string) {
      const events = (await readJsonl(join(dir, `${file}.jsonl`))) as Event[];
      return events.map((event) => (event.type === "tool.called" ? event.data.input : event.type));
    },
  };
}

it("writes each call into the file of its tool, for its owner alone and without secrets", async () => {
  const { dir, open, called, inputs } = await setUp();
  const mirror = await open();
  await called(["a", "1"], ["b", "2"], ["a", "hunter2-secret"]);
  await called(["a", "4"]);
  await mirror.close();
  expect(await inputs("a")).toEqual(["1", expect.not.stringContaining("hunter2"), "4"]);
  expect(await inputs("b")).toEqual(["2"]);
  expect((await stat(join(dir, "a.jsonl"))).mode & 0o777).toBe(0o600);
});

it("catches up with what was called while it was away, over a line that a crash tore", async () => {
  const { dir, open, called, inputs } = await setUp();
  await called(["a", "1"], ["b", "2"]);
  await (await open()).close();
  await appendFile(join(dir, "b.jsonl"), '{"seq":3,"type":"tool.ca');
  await called(["b", "3"], ["a", "4"], ["c", "5"]);
  await (await open()).close();
  expect(await Promise.all(["a", "b", "c"].map(inputs))).toEqual([["1", "4"], ["2", "3"], ["5"]]);
});

it("loses and doubles nothing when a page was cut between two files", async () => {
  const { dir, open, called, inputs } = await setUp();
  await called(["a", "1"], ["b", "2"], ["a", "3"], ["b", "4"]);
  await (await open()).close();
  // As if it had ended before the last of them was written.
  const [kept] = await readJsonl(join(dir, "b.jsonl"));
  await writeFile(join(dir, "b.jsonl"), `${JSON.stringify(kept)}\n`);
  await (await open()).close();
  expect(await Promise.all(["a", "b"].map(inputs))).toEqual([
    ["1", "3"],
    ["2", "4"],
  ]);
});

it("makes a deleted folder again", async () => {
  const { dir, open, called, inputs } = await setUp();
  await called(["a", "1"]);
  await (await open()).close();
  await rm(dir, { recursive: true });
  const mirror = await open();
  await called(["a", "2"]);
  await mirror.close();
  expect(await inputs("a")).toEqual(["1", "2"]);
});

it("keeps a file within its size and the one before it, also over a start between them", async () => {
  const { dir, open, called, inputs } = await setUp();
  for (const round of ["1", "2", "3", "4", "5"]) {
    await called(["a", round.repeat(100)]);
    await (await open(500)).close();
  }
  for (const file of await readdir(dir)) expect((await stat(join(dir, file))).size).toBeLessThanOrEqual(500);
  expect((await readdir(dir)).toSorted()).toEqual(["a.1.jsonl", "a.jsonl"]);
  await rm(join(dir, "a.jsonl"));
  await (await open(500)).close();
  expect(await inputs("a")).toEqual(["5".repeat(100)]);
});

it("never leaves its folder, whatever an agent calls a tool", async () => {
  const { dir, open, called, inputs } = await setUp();
  await called(["../escaped", "1"], ["a/b", "2"], ["x".repeat(300), "3"], ["", "4"]);
  await (await open()).close();
  expect(await readdir(dir)).toEqual(["other.jsonl"]);
  expect(await inputs("other")).toEqual(["1", "2", "3", "4"]);
});

it("goes on when the folder could not be written for a while", async () => {
  const { dir, open, called, inputs } = await setUp();
  await writeFile(dir, "in the way");
  const mirror = await open();
  await called(["a", "1"]);
  await rm(dir);
  // The mirror may have made it first.
  await mkdir(dir, { recursive: true });
  await called(["a", "2"]);
  await mirror.close();
  expect(await inputs("a")).toEqual(["1", "2"]);
});
