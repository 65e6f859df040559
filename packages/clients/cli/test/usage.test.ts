/** How usage is written, which edits events hold, and which word of an answer names a session. */

import type { Ask } from "@aegis/contract/ask.ts";
import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { isReference } from "../src/commands/ask/find-ask.ts";
import { changesIn } from "../src/commands/session/changes.ts";
import { contextText, costText, tokensText, usageWords } from "../src/format/usage.ts";

const usage = { input: 900, cache_read: 11_000, cache_write: 100, output: 999_600, cost: 0.5 };

describe("usage", () => {
  it("counts cached tokens as read, and marks what is not known", () => {
    expect(tokensText(usage)).toBe("12k/1M");
    expect(tokensText(null)).toBe("-");
    expect(costText({ ...usage, cost_unknown: 2 })).toBe("$0.50+");
    expect(costText({ ...usage, cost: null })).toBe("-");
    expect(contextText({ used: 20_000, size: 200_000 })).toBe("10%");
    expect(contextText({ used: 1_250, size: null })).toBe("1.3k");
    expect(contextText(undefined)).toBe("-");
  });

  it("says it in words, and nothing where nothing is recorded", () => {
    expect(usageWords({ ...usage, cost: null }, { used: 5, size: 10 })).toBe(
      "12k tokens in, 1M out, cost unknown, context 5 of 10 (50%)",
    );
    expect(usageWords({ ...usage, cost_unknown: 1 })).toContain("$0.50 and 1 turn of unknown cost");
    expect(usageWords(null, null)).toBeNull();
  });
});

it("finds made, failed and unconfirmed edits, and those of which only the path is known", () => {
  const turn = newId("trn", 1);
  const session = newId("ses", 1);
  const call = (id: string, path: string, more: object = {}) => ({
    type: "turn.tool_call",
    session,
    at: 1,
    seq: 1,
    data: {
      turn,
      call: id,
      name: "Edit",
      kind: "edit",
      title: "",
      input: {},
      parent: null,
      locations: [{ path }],
      diff: null,
      ...more,
    },
  });
  const result = (id: string, is_error: boolean) => ({
    type: "turn.tool_result",
    session,
    at: 1,
    seq: 1,
    data: { turn, call: id, output: "", is_error, diff: null },
  });
  const events = [
    { type: "turn.started", session, at: 1, seq: 1, data: { turn, messages: [], spontaneous: false } },
    call("1", "a", { diff: { path: "a", before: "x", after: "y" } }),
    result("1", false),
    call("2", "b"),
    result("2", true),
    call("3", "c"),
    call("4", "d", { kind: "read" }),
  ] as unknown as Event[];
  expect(changesIn(events)).toMatchObject([
    { turn_number: 1, path: "a", status: "made", diff: { before: "x", after: "y" } },
    { turn_number: 1, path: "b", status: "failed", diff: null },
    { turn_number: 1, path: "c", status: "unconfirmed", diff: null },
  ]);
});

it("never takes the choice of an open ask for a session of that name", () => {
  const open = [{ id: newId("ask", 1), options: ["allow", "always", "deny"] } as unknown as Ask];
  const handles = ["allow", "ada"];
  expect(isReference("allow", open, handles)).toBe(false);
  expect(isReference("ada", open, handles)).toBe(true);
  expect(isReference("maybe", open, handles)).toBe(false);
  expect(isReference("lucid-hertz", open, handles)).toBe(true);
  expect(isReference(newId("ses", 1), open, handles)).toBe(true);
});
