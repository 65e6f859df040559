/** DETAIL says what checks said about the selected task, run or subagent. */

import { newId } from "@aegis/contract/ids.ts";
import type { ReceiptView } from "@aegis/contract/receipt.ts";
import { memoryApp } from "@aegis/test/helpers/memory-terminal.ts";
import { sampleModel } from "@aegis/test/helpers/sample-team.ts";
import { describe, expect, it } from "vitest";
import { verdictOf } from "../src/checked.ts";

const receipt = (change: Partial<ReceiptView>): ReceiptView => ({
  id: newId("rcp", 0),
  kind: "task",
  subject: "tsk_01hx3c",
  session: newId("ses", 0),
  turn: null,
  command: "npm test",
  status: "passed",
  state: "passed",
  exit: 0,
  duration_ms: 1_200,
  tree: null,
  head: null,
  tail: "",
  counts: null,
  changed: [],
  problem: null,
  message: null,
  note: null,
  started_at: 0,
  ended_at: 1,
  ...change,
});
const returned = receipt({ state: "failed", message: newId("msg", 0) });

it("calls work verified only if every deciding check passed on the present files", () => {
  expect(verdictOf([])).toBe("unverified");
  expect(verdictOf([receipt({}), returned])).toBe("verified");
  expect(verdictOf([returned])).toBe("unverified");
  expect(verdictOf([receipt({}), receipt({ state: "void" })])).toBe("void");
  for (const state of ["failed", "refused", "running"] as const)
    expect(verdictOf([receipt({ state: "void" }), receipt({ state })])).toBe("unverified");
});

describe("DETAIL", () => {
  const rows = { task: "task:tsk_01hz01hx3c", run: "run:run_01hz9988cc" };
  type Change = { check?: string; receipts?: ReceiptView[] } | null;
  const shown = (kind: keyof typeof rows, change: Change) => {
    const model = sampleModel();
    const of = rows[kind].split(":")[1] ?? "";
    const checked = change === null ? null : { of, check: null, receipts: [], ...change };
    const { app, drawn: draw } = memoryApp({ ...model, checked }, { columns: 200, rows: 60 });
    app.show("dashboard");
    app.update({ selected: { dashboard: rows[kind] } });
    return { text: draw(), bytes: app.render().join("\n") };
  };
  const drawn = (kind: keyof typeof rows, change: Change) => shown(kind, change).text;

  it.each(["task", "run"] as const)("shows the verdict and the check of a %s", (kind) => {
    expect(drawn(kind, null)).not.toContain("verified");
    expect(drawn(kind, {})).toContain("unverified");
    expect(drawn(kind, { receipts: [receipt({})] })).toMatch(
      /[^n]verified[\s\S]*check `npm test` passed \(exit 0, 1\.2 s\)/,
    );
    const stale = receipt({ state: "void", note: "files have changed since" });
    expect(drawn(kind, { receipts: [stale] })).toMatch(/void[\s\S]*check `npm test` void .*; files have changed since/);
    const hostile = receipt({ command: "echo \u001b]0;x\u0007\u001b[2J" });
    for (const sequence of ["\u001b]0", "\u001b[2J", "\u0007"])
      expect(shown(kind, { receipts: [hostile] }).bytes).not.toContain(sequence);
  });
});
