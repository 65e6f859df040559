import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { OverflowFiles } from "@aegis/lib/overflow.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import { StoreAwayError } from "@aegis/store/transact.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { sessionRow } from "@aegis/test/helpers/rows.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { z } from "zod";
import { type AgentTool, ToolTable } from "../../src/tools/tools.ts";

const away = new StoreAwayError("the database is away");

/** A tool whose first calls fail. */
async function stage(failures: number, failure: AegisError, more: Partial<AgentTool> = {}) {
  const clock = fakeClock();
  const keys: string[] = [];
  const tool: AgentTool = {
    name: "keep",
    description: "keep",
    input: z.object({}),
    readOnly: false,
    async run(_input, { key }) {
      keys.push(key);
      if (keys.length <= failures) throw failure;
      return "kept";
    },
    ...more,
  };
  const tools = new ToolTable({
    log: silentLogger,
    clock,
    redact: (text: string) => text,
    record: () => undefined,
    withheld: () => null,
    overflow: new OverflowFiles({ dir: join(await tempDir(), "overflow"), shownAs: "", log: silentLogger }),
    guard: { before: async (_tool, input) => ({ input }), after: async (_tool, _input, outcome) => outcome },
  });
  const stop = new AbortController();
  const context = { caller: sessionRow(), agent: offlineAgent, key: "one", signal: stop.signal };
  return { clock, keys, stop, called: tools.call("keep", {}, context, () => tool) };
}

it("repeats a built-in tool with the same key until the database is back", async () => {
  const { clock, keys, called } = await stage(3, away);
  await clock.advance(5_000);
  expect(await called).toEqual({ output: "kept", is_error: false });
  expect(keys).toEqual(["one", "one", "one", "one"]);
});

it("gives up after half a minute, and when the call is aborted", async () => {
  const long = await stage(1_000, away);
  await long.clock.advance(31_000);
  expect(await long.called).toEqual({ output: "the database is away", is_error: true });
  const cut = await stage(1_000, away);
  await cut.clock.sleepers(1);
  cut.stop.abort();
  expect(await cut.called).toMatchObject({ is_error: true });
  expect(cut.keys).toHaveLength(1);
});

it("does not repeat tools of plugins, or another failure", async () => {
  for (const { keys, called } of [
    await stage(1, away, { plugin: "other" }),
    await stage(1, new AegisError("unavailable", "the agent did not complete the task")),
    await stage(1, new AegisError("storage_full", "the disk is full")),
  ]) {
    expect(await called).toMatchObject({ is_error: true });
    expect(keys).toHaveLength(1);
  }
});
