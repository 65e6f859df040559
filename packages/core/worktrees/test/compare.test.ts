/** Whether a write is based on the present content of its file. */

import { newId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import { mismatch } from "../src/claims/compare.ts";
import { absent, type Content } from "../src/claims/ledger.ts";

const [ada, bob] = [newId("ses", 1), newId("ses", 2)];
const now: Content = { hash: "h2", text: "one\nby bob\n" };
const gone: Content = { hash: absent, text: null };
const by = (session: typeof ada, hash: string | null = "h2") => ({ path: "a", session, hash, at: 1 });
const whole = { path: "a", after: "new\n" };
const part = (before: string) => ({ path: "a", before, after: "new", part: true as const });

it.each([
  ["a file without a known writer may be replaced unread", whole, now, null, null, null],
  ["not one that another session wrote", whole, now, null, by(bob), "unread"],
  ["also if its end is not known", whole, now, null, by(bob, null), "unread"],
  ["its own last write may be replaced", whole, now, null, by(ada), null],
  ["unless something changed it since", whole, now, null, by(ada, "h1"), "changed"],
  ["what was read may be replaced", whole, now, "h2", by(bob), null],
  ["not what changed since", whole, now, "h1", null, "changed"],
  ["a file that was deleted since is not written again", whole, gone, "h1", null, "deleted"],
  ["a new file may be written", whole, gone, null, null, null],
  ["also where the agent saw that there was none", whole, gone, absent, null, null],
  ["but not if another session created it meanwhile", whole, now, absent, by(bob), "changed"],
  ["a part may be replaced while it is there", part("one"), now, "h1", by(bob), null],
  ["not once it is gone", part("two"), now, "h1", by(bob), "changed"],
  ["an agent that shows the present text knows it", { ...whole, before: now.text }, now, null, by(bob), null],
  ["one that shows the beginning of it does not", { ...whole, before: "one\n" }, now, "h1", by(bob), "changed"],
  ["nor one that shows another text", { ...whole, before: "two\n" }, now, null, null, "changed"],
  ["hunks carry their own context", { path: "a", patch: "@@" }, now, "h1", by(bob), null],
  ["deleting a file that is gone changes nothing", { path: "a", before: "x", after: null }, gone, "h1", null, null],
] as const)("%s", (_name, change, content, known, writer, expected) => {
  expect(mismatch(change, { session: ada, now: content, known, writer })).toBe(expected);
});
