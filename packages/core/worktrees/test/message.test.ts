import { isId, newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { commitMessage } from "../src/landing/message.ts";

const session = { id: newId("ses", 1), handle: "ada", title: "Fix the parser" };
const trailer = `Aegis-Session: ${session.id}`;

describe("the message of a landed commit", () => {
  it("has the title, the start of the last answer, and trailers for session and task", () => {
    const task = newId("tsk", 1);
    expect(isId("tsk", task)).toBe(true);
    const answer =
      "The parser now reads `0x` numbers, because the lexer keeps the prefix of every literal.\n\n```ts\ncode();\n```\n\n- tests added";
    expect(commitMessage({ session, given: null, answer, task })).toBe(
      [
        "Fix the parser",
        "",
        "The parser now reads `0x` numbers, because the lexer keeps the prefix of",
        "every literal.",
        "",
        "- tests added",
        "",
        trailer,
        `Aegis-Task: ${task}`,
        "",
      ].join("\n"),
    );
  });

  it("is what a person gave, and never an id alone", () => {
    expect(commitMessage({ session, given: "Read hex\n\nWhy", answer: "x", task: null })).toBe(
      `Read hex\n\nWhy\n\n${trailer}\n`,
    );
    const bare = commitMessage({ session: { ...session, title: "" }, given: null, answer: "", task: null });
    expect(bare).toBe(`Work of ada\n\n${trailer}\n`);
  });

  it("keeps a long answer short, and controls out of it", () => {
    const answer = `\u001b[31m${"word ".repeat(2_000)}`;
    const message = commitMessage({ session, given: null, answer, task: null });
    expect(message.length).toBeLessThan(1_100);
    expect(message).not.toContain("\u001b");
    expect(Math.max(...message.split("\n").map((line) => line.length))).toBeLessThanOrEqual(72);
  });
});
