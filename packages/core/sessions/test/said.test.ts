import { describe, expect, it } from "vitest";
import { TurnText } from "../src/turn-output.ts";

describe("what was said in a turn", () => {
  it("is the last message, with what has streamed since", () => {
    const said = new TurnText();
    said.completed({ message: "a", text: "one" });
    expect([said.text, said.soFar]).toEqual(["one", "one"]);
    said.streamed("b", "tw");
    said.streamed("b", "o");
    expect([said.text, said.soFar]).toEqual(["one", "two"]);
    expect(said.unfinished).toEqual([{ message: "b", text: "two" }]);
    said.completed({ message: "b", text: "two." });
    expect([said.text, said.soFar, said.unfinished]).toEqual(["two.", "two.", []]);
  });

  it("joins the parts of one message, also the one that streams", () => {
    const said = new TurnText();
    said.completed({ message: "a", text: "one" });
    said.streamed("a", "two");
    expect(said.soFar).toBe("one\n\ntwo");
    said.completed({ message: "a", text: "two" });
    expect(said.text).toBe("one\n\ntwo");
  });

  it("does not count blank text, and forgets what was withheld", () => {
    const said = new TurnText();
    said.completed({ message: "a", text: "one" });
    said.streamed("b", " \n");
    expect([said.soFar, said.unfinished]).toEqual(["one", []]);
    said.streamed("b", "secret");
    said.withheld("b");
    expect([said.text, said.soFar, said.unfinished]).toEqual(["", "", []]);
  });

  it("keeps a bounded part of a text that does not end, and says how much is missing", () => {
    const said = new TurnText();
    for (let number = 0; number < 300; number++) said.streamed("a", "x".repeat(1024));
    expect(said.soFar).toHaveLength(256 * 1024 + "\n[45056 more characters]".length);
    expect(said.soFar.endsWith("\n[45056 more characters]")).toBe(true);
  });
});
