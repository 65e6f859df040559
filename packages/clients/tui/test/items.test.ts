import { sampleModel, sampleSessions, sampleTranscript } from "@aegis/test/helpers/sample-team.ts";
import { expect, it } from "vitest";
import { Items } from "../src/items.ts";
import { lanesOf } from "../src/view/team.ts";

it("keeps the identity of items that did not change while a text grows", () => {
  const transcript = sampleTranscript();
  const items = new Items();
  const before = items.of(transcript);
  expect(before.map(({ kind }) => kind)).toEqual(["message", "tool", "thinking", "text", "text", "tool", "tool"]);
  const delta = { session: sampleSessions.lucid, turn: "trn_01hzone", message: "m9", type: "text" };
  transcript.addDelta({ ...delta, offset: 0, text: "new\n\nwor" } as never);
  const after = items.of(transcript);
  expect(before.every((item, index) => item === after[index])).toBe(true);
  transcript.addDelta({ ...delta, offset: 8, text: "ds" } as never);
  const last = items.of(transcript);
  expect(last.at(-2)).toBe(after.at(-2));
  expect(last.at(-1)).toMatchObject({ kind: "text", text: "words", streaming: true });
  expect(items.of(transcript)).toBe(last);
});

it("keeps the lanes of the newest messages", () => {
  const { flow } = sampleModel();
  expect(lanesOf(flow, 10)).toEqual(["you", "lucid-hertz", "wry-hopper", "review", "tdd_cycle"]);
  expect(lanesOf(flow, 2)).toHaveLength(2);
});
