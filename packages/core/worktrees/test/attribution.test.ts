import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import { attribute, intervalsOf } from "../src/attribution.ts";

const [a, b] = [newId("ses", 1), newId("ses", 2)];
const open = (session: SessionId, tree: string | null) => ({ session, edge: "open" as const, tree });
const close = (session: SessionId, tree: string | null) => ({ session, edge: "close" as const, tree });
const set = (...sessions: SessionId[]) => new Set(sessions);
const none = new Set<SessionId>();

it("knows who had a turn in each interval", () => {
  expect(intervalsOf([], [open(a, "0"), open(b, "1"), close(a, "2"), close(b, "3"), open(a, "4")])).toEqual([
    { from: "0", to: "1", sessions: set(a) },
    { from: "1", to: "2", sessions: set(a, b) },
    { from: "2", to: "3", sessions: set(b) },
    { from: "3", to: "4", sessions: none },
  ]);
  expect(intervalsOf([{ session: b }], [open(a, "0"), close(a, "1")])).toEqual([
    { from: "0", to: "1", sessions: set(a, b) },
  ]);
});

it("joins the intervals around a boundary without a tree, and blames every session of both", () => {
  expect(intervalsOf([], [open(a, "0"), open(b, null), close(a, "2")])).toEqual([
    { from: "0", to: "2", sessions: set(a, b) },
  ]);
});

it.each([
  ["one session had a turn", [{ sessions: set(a), named: none }], "sole", [a]],
  ["several had one", [{ sessions: set(a, b), named: none }], "shared", [a, b]],
  ["only this one reported an edit", [{ sessions: set(a, b), named: set(a) }], "named", [a]],
  [
    "another changed it too",
    [
      { sessions: set(a), named: none },
      { sessions: set(b), named: none },
    ],
    "shared",
    [a, b],
  ],
] as const)("attributes a file when %s", (_, changes, attribution, sessions) => {
  expect(attribute(a, changes)).toEqual({ attribution, sessions, outside: false });
});

it("does not attribute what another session reported, and says when no session had a turn", () => {
  expect(attribute(a, [{ sessions: set(a, b), named: set(b) }])).toBeNull();
  expect(attribute(a, [{ sessions: none, named: none }])).toBeNull();
  expect(
    attribute(a, [
      { sessions: set(a), named: none },
      { sessions: none, named: none },
    ]),
  ).toMatchObject({ outside: true });
});
