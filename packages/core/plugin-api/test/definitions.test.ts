import { describe, expect, it } from "vitest";
import { agent, channel, command, hook, reducer, skill, tool } from "../src/bare.ts";
import { z } from "../src/index.ts";
import { callHook, callTool, fakeWorkflowContext, hookContext, loadedParts } from "../src/testing/index.ts";
import { workflow } from "../src/workflow.ts";

const never = () => null as never;

describe("mistakes are told where they are made", () => {
  it.each([
    [
      "an unknown event",
      () => hook("pre_trun" as never, never),
      /no hook event "pre_trun" \(did you mean "pre_turn"\?\)/,
    ],
    ["a hook without a function", () => hook("pre_turn", {} as never), /has no function/],
    [
      "an unknown option",
      () => hook("pre_turn", { stirct: true } as never, never),
      /no option "stirct" \(did you mean "strict"/,
    ],
    ["a wrong timeout", () => hook("pre_turn", { timeout: -1 }, never), /timeout .* should be a number of seconds/],
    ["a tool without a description", () => tool({ description: " " }, never), /description .* should be a text/],
    ["a tool with a bad name", () => tool({ name: "no spaces", description: "d" }, never), /is not a valid tool name/],
    ["a tool with two inputs", () => tool({ description: "d", input: {}, parameters: {} }, never), /given once/],
    [
      "a tool with a wrong right",
      () => tool({ description: "d", permission: "root" as never }, never),
      /none, read, write, full/,
    ],
    ["a tool without a function", () => tool({ description: "d" }, undefined as never), /has no function/],
    ["a skill without content", () => skill({ name: "a", description: "d", content: "" }), /content of the skill/],
    ["an agent without a prompt", () => agent({ name: "a", description: "d" } as never), /prompt of the agent/],
    ["a command with capitals", () => command({ name: "Hi", description: "d" }, never), /is not a valid command name/],
    [
      "a channel without receive",
      () => channel({ description: "d", connect: never } as never),
      /receive of the channel/,
    ],
    [
      "a channel with a name of Aegis",
      () => channel({ name: "telegram", description: "d" } as never),
      /belongs to Aegis/,
    ],
    [
      "an unknown option of a channel",
      () => channel({ recieve: never } as never),
      /no option "recieve" \(did you mean "receive"/,
    ],
    ["a reducer without a function", () => reducer("r", 1 as never), /has no function/],
  ])("%s", (_, make, message) => {
    expect(make).toThrow(message);
  });
});

describe("helpers for tests of plugins", () => {
  it("call hooks with contexts of their event", async () => {
    const shout = hook("pre_turn", (context) => ({ rewriteUser: context.userMessage.toUpperCase() }));
    expect(await callHook(shout, { userMessage: "hello" })).toEqual({ rewriteUser: "HELLO" });
    expect(hookContext("on_enqueue", { queue: "builds" })).toMatchObject({ queue: "builds", payload: "do it" });
  });

  it("call tools with their input checked", async () => {
    const add = tool(
      { description: "d", input: z.object({ a: z.number(), b: z.number().default(1) }) },
      ({ a, b }) => a + b,
    );
    expect(await callTool(add, { a: 2 })).toBe(3);
    await expect(callTool(add, { a: "2" })).rejects.toThrow(/wrong input/);
  });

  it("load what a module exports and registers", async () => {
    const parts = await loadedParts({
      greet: tool({ name: "greet", description: "d" }, () => "hi"),
      other: 12,
      register(api: { registerHook: (event: string, run: () => null) => void; id: string }) {
        api.registerHook("post_turn", () => null);
      },
    });
    expect(parts.tools.map((part) => part.options.name)).toEqual(["greet"]);
    expect(parts.hooks.map((part) => part.event)).toEqual(["post_turn"]);
  });

  it("run workflows against a context that answers by script", async () => {
    const review = workflow("review", { input: z.object({ days: z.number() }) }, async (context, { days }) => {
      const log = await context.bash(`git log --since='${days} day'`);
      const notes = await context.parallel([() => context.delegate("reviewer", log.stdout)]);
      await context.checkpoint("done", { notes });
      return notes;
    });
    const context = fakeWorkflowContext({
      bash: () => "a commit",
      delegate: (queue, payload) => `${queue} read ${payload}`,
    });
    expect(await review.body(context, { days: 1 })).toEqual(["reviewer read a commit"]);
    expect(context.calls.map((call) => call.method)).toEqual(["bash", "delegate", "checkpoint"]);
    await expect(fakeWorkflowContext().delegate("q", "p")).rejects.toThrow(/no script for context\.delegate/);
  });
});
