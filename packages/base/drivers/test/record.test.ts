/** What a harness's record proves about a prompt. */

import { printOf } from "@aegis/lib/text-digest.ts";
import { expect, it } from "vitest";
import { recordHolds } from "../src/record.ts";

const sent = (...texts: string[]) => texts.map((text) => ({ key: "k", print: printOf(text) }));
const earlier = (...texts: string[]) => texts.map(printOf);

it.each([
  ["as it was sent", ["hello", "do it"]],
  ["in pieces", ["hel", "lo", "do ", "it"]],
  ["after what the driver puts before it", ["hello", "[Aegis: a note]\n\ndo it"]],
  ["with other white space around it", ["hello\n", " do it \n\n"]],
  ["as the only prompt that is left of the conversation", ["do it"]],
])("a prompt is found %s", (_, record) => {
  expect(recordHolds(record, { prompts: sent("do it"), earlier: earlier("hello") })).toBe("yes");
});

it("a prompt is missing only from a record that shows another prompt of the session", () => {
  const asked = { prompts: sent("do it"), earlier: earlier("hello") };
  expect(recordHolds(["hello"], asked)).toBe("no");
  expect(recordHolds(["<rewritten>hello</rewritten>"], asked)).toBe("unknown");
  expect(recordHolds([], asked)).toBe("unknown");
  expect(recordHolds(null, asked)).toBe("unknown");
  expect(recordHolds(["anything"], { ...asked, earlier: [] })).toBe("unknown");
});

it("of prompts with the same words each must be there", () => {
  const asked = { prompts: sent("go on"), earlier: earlier("hello", "go on") };
  expect(recordHolds(["hello", "go on", "go on"], asked)).toBe("yes");
  expect(recordHolds(["hello", "go on"], asked)).toBe("unknown");
  expect(recordHolds(["hello"], asked)).toBe("no");
});

it("any hand-over of the same messages counts", () => {
  const asked = { prompts: sent("do it", "marked: do it"), earlier: earlier("hello") };
  expect(recordHolds(["hello", "marked: do it"], asked)).toBe("yes");
  expect(recordHolds(["hello", "do it"], asked)).toBe("yes");
});

it("a hand-over whose text was not recorded is never missing", () => {
  expect(recordHolds(["hello"], { prompts: [{ key: "", print: "" }], earlier: earlier("hello") })).toBe("unknown");
});

it("a prompt of blanks alone proves nothing", () => {
  expect(recordHolds(["hello", "  "], { prompts: sent(" "), earlier: earlier("hello") })).toBe("unknown");
});
