import { busyModel } from "@aegis/test/helpers/busy-team.ts";
import { now, sampleModel } from "@aegis/test/helpers/sample-team.ts";
import { describe, expect, it } from "vitest";
import { boundBlock, splitBlocks } from "../src/facts/blocks.ts";
import { dashboard, runWords } from "../src/facts/dashboard.ts";
import { askAction, needsYou } from "../src/facts/needs-you.ts";
import { firstSession, teamTree } from "../src/facts/team.ts";

const { state, lists } = sampleModel();

it("shows runs as the dashboard of the seed does: running ones first, then ended ones, latest first", () => {
  const lines = dashboard(state, lists).workflows.flatMap(({ run }) => {
    const { line, outcome } = runWords(run, state, now);
    return outcome === null ? [line] : [line, outcome];
  });
  expect(lines).toEqual([
    "tdd_cycle 0abcde · host lucid-hertz · running · 2h00m",
    "brainstorm_to_spec 1234ab · host wry-hopper · awaiting reply · 47.2s",
    "review_branch 9988cc · host lucid-hertz · ok · 3m02s",
    "3 reviews ok, 0 blocked",
    "execute_plan 7766dd · host brisk-volta · error · 1m18s",
    "PredicateFailed: tests still failing",
  ]);
});

it("lists waiting tasks in the order in which they start, and no subagent that left the list", () => {
  const busy = busyModel();
  const [task] = Object.values(busy.state.tasks).filter(({ status }) => status === "pending");
  const [subagent] = Object.values(busy.state.subagents);
  if (task === undefined || subagent === undefined) throw new Error("the sample has both");
  const earlier = { ...task, id: "tsk_01hzearlier" as typeof task.id, enqueued_at: task.enqueued_at - 1 };
  const gone = { ...subagent, run_id: "sub_01hzgone" as typeof subagent.run_id, archived_at: now };
  const { queued, inFlight } = dashboard(
    {
      ...busy.state,
      tasks: { ...busy.state.tasks, [earlier.id]: earlier },
      subagents: { ...busy.state.subagents, [gone.run_id]: gone },
    },
    busy.lists,
  );
  expect(queued.map((row) => (row.kind === "task" ? [row.task.id, row.place] : row.key))).toEqual([
    [earlier.id, 1],
    [task.id, 2],
    "schedule:nightly",
  ]);
  expect(inFlight.filter(({ kind }) => kind === "subagent").map(({ key }) => key)).toEqual([
    `subagent:${subagent.run_id}`,
  ]);
});

it("lists asks by how long they wait, with the action itself", () => {
  expect(needsYou(state).map(({ ask }) => askAction(ask))).toEqual([
    "rm -rf build && npm run build",
    "Keep the old export?",
  ]);
});

it("puts subagents below their parents, and opens the session that waits longest, else the newest that a person started", () => {
  expect(teamTree(state).map(({ session, depth }) => [session.handle, depth])).toEqual([
    ["lucid-hertz", 0],
    ["shy-boole", 1],
    ["wry-hopper", 0],
    ["brisk-volta", 0],
    ["keen-poincare", 0],
  ]);
  expect(firstSession(state)?.handle).toBe("wry-hopper");
  expect(firstSession({ ...state, asks: [] })?.handle).toBe("brisk-volta");
});

describe("blocks", () => {
  it("end at blank lines outside fences", () => {
    expect(splitBlocks("a\nb\n\n```\nx\n\ny\n```\n\nlast")).toEqual(["a\nb\n\n", "```\nx\n\ny\n```\n\n", "last"]);
  });

  it("of a long line are bounded", () => {
    const bound = boundBlock("x".repeat(1_000_000));
    expect(bound.length).toBeLessThan(20_000);
    expect(bound).toContain("more characters");
  });
});
