import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { forest } from "../../../core/delegation/test/subagents/forest.ts";
import { reduce } from "../src/reduce.ts";
import { emptyState } from "../src/state.ts";

it("knows what is recorded of subagents, from the events alone", async () => {
  const f = await forest();
  const root = await f.root();
  const child = await f.spawn(root, { label: "child" });
  const below = await f.spawn(child.session, { label: "below", cleanup: "delete" });
  await f.say(below.session, "found it");
  await f.ended(below.run_id);
  // Its parent never reads the result, which then is passed on.
  await f.runtime.subagents.killRun(child.run_id);
  await waitUntil("the result is passed on", async () => (await f.row(below.run_id)).announced_to === root);
  await f.spawn(root, { label: "another" });
  const { read } = f.runtime.store;
  const events = await read.events.list({ limit: 10_000 });
  const { subagents } = events.reduce(reduce, emptyState());
  const rows = await read.subagents.below(root);
  expect(rows).toHaveLength(3);
  for (const { chain: _, hops: __, ...row } of rows) expect(subagents[row.run_id]).toEqual(row);
  // A client that comes late passes over what it never saw begin.
  expect(events.slice(-1).reduce(reduce, emptyState()).subagents).toEqual({});
});
