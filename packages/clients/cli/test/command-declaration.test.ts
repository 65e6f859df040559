import { describe, expect, expectTypeOf, it } from "vitest";
import { type Args, argument, command, type Handler, option } from "../src/program/command.ts";
import type { Terminal } from "../src/terminal/terminal.ts";

const seen: unknown[] = [];

const sample = command({
  path: "demo",
  summary: "A sample",
  arguments: {
    session: argument("<session>", "must be given"),
    text: argument("[text]", "may be given"),
    files: argument("[file...]", "all that follow"),
  },
  options: {
    agent: option.text("--agent <name>", "text"),
    yes: option.flag("-y, --yes", "a flag"),
    noAsk: option.flag("--no-ask", "a flag that says no"),
    limit: option.count("-n, --limit <count>", "a number"),
    lines: option.count("--lines <count>", "a number with a default", { default: 50 }),
    timeoutMs: option.duration("--timeout <time>", "a time"),
    images: option.list("--image <file>", "a list"),
    policy: option.choice("--policy <policy>", "one of some words", ["retry", "fail"]),
    kind: option.choice("--kind <kind>", "one of some words, with a default", ["tool", "hook"], { default: "tool" }),
  },
  examples: ["aegis sample"],
  run: async (_cx, args) => void seen.push(args),
});

type Sample = Args<typeof sample>;

describe("a declared command", () => {
  it("gives each value the type that its declaration says", () => {
    expectTypeOf<Sample["session"]>().toEqualTypeOf<string>();
    expectTypeOf<Sample["text"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Sample["files"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Sample["agent"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Sample["yes"]>().toEqualTypeOf<boolean>();
    expectTypeOf<Sample["limit"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Sample["lines"]>().toEqualTypeOf<number>();
    expectTypeOf<Sample["timeoutMs"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Sample["images"]>().toEqualTypeOf<readonly string[]>();
    expectTypeOf<Sample["policy"]>().toEqualTypeOf<"retry" | "fail" | undefined>();
    expectTypeOf<Sample["kind"]>().toEqualTypeOf<"tool" | "hook">();
  });

  it("does not compile with a name, a value or a result that was not declared", () => {
    const handlers: Handler<typeof sample>[] = [
      // @ts-expect-error the option is called agent
      async (_cx, { agnet }) => void agnet,
      // @ts-expect-error no such word was declared
      async (_cx, { kind }) => void (kind === "workflow"),
      // @ts-expect-error text may be missing
      async (_cx, { text }) => void text.trim(),
      // @ts-expect-error an exit code is a number
      async () => "done",
    ];
    expect(handlers).toHaveLength(4);
    command({
      path: "ps",
      summary: "Takes nothing",
      examples: ["aegis bare"],
      // @ts-expect-error nothing was declared
      run: async (_cx, { session }) => void session,
    });
    // @ts-expect-error an argument is <required> or [optional]
    argument("session", "neither");
  });

  it("reads what the parser found, in the order of the declaration", async () => {
    const given = ["demo", undefined, ["a", "b"]];
    const options = [undefined, true, false, 3, undefined, 90_000, ["x.png"], "fail", undefined];
    const cx = {} as Terminal;
    await sample.run(cx, { arguments: given, options });
    await sample.run(cx, { arguments: ["demo"], options: [] });
    expect(seen).toEqual([
      {
        session: "demo",
        text: undefined,
        files: ["a", "b"],
        agent: undefined,
        yes: true,
        noAsk: true,
        limit: 3,
        lines: 50,
        timeoutMs: 90_000,
        images: ["x.png"],
        policy: "fail",
        kind: "tool",
      },
      {
        session: "demo",
        text: undefined,
        files: [],
        agent: undefined,
        yes: false,
        noAsk: false,
        limit: undefined,
        lines: 50,
        timeoutMs: undefined,
        images: [],
        policy: undefined,
        kind: "tool",
      },
    ]);
  });

  it("says what it expected instead of a wrong value, and names the nearest word", () => {
    const parse = (name: string, text: string) => () =>
      sample.options.find(({ flags }) => flags.includes(`--${name} `))?.parse?.(text, undefined);
    expect(parse("policy", "retyr")).toThrow('expected retry, fail (did you mean "retry"?)');
    expect(parse("limit", "1.5")).toThrow("expected a whole number");
    expect(parse("timeout", "soon")).toThrow("expected a time such as 30s, 5m or 1h");
    expect(parse("timeout", "90s")()).toBe(90_000);
  });

  it("names a default in its help", () => {
    const lines = sample.options.find(({ flags }) => flags.startsWith("--lines"));
    expect(lines?.description).toBe("a number with a default (default 50)");
  });

  it("refuses a removed option with what to use instead", () => {
    const removed = option.removed("--cluster", "run examples/cluster");
    expect(removed.read(undefined)).toBeUndefined();
    expect(() => removed.read(true)).toThrow(
      expect.objectContaining({ message: "there is no --cluster any more", hint: "run examples/cluster" }),
    );
  });
});
