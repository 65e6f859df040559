import { hookEvents } from "@aegis/contract/hook.ts";
import { describe, expect, it } from "vitest";
import { command, hook, reducer, WorkflowError, workflow, z } from "../src/index.ts";
import {
  callCommand,
  callHook,
  callReducer,
  fakeContext,
  fakeEngine,
  fakeWorkflowContext,
  hookContext,
  runWorkflow,
} from "../src/testing/index.ts";

describe("contexts", () => {
  it.each(hookEvents)("there is a complete one for %s", async (event) => {
    expect(Object.values(hookContext(event)).length).toBeGreaterThan(0);
    expect(Object.values(hookContext(event))).not.toContain(undefined);
    expect(await callHook(hook(event, () => null))).toBeNull();
  });

  it("keep what is logged", () => {
    const context = fakeContext({ config: { a: 1 } });
    context.log("warn", "careful");
    expect(context.lines).toEqual(["warn: careful"]);
    expect(context.config).toEqual({ a: 1 });
  });
});

describe("calls", () => {
  it("run a command in a session or in none", async () => {
    const who = command({ name: "who", description: "x" }, (args, { session }) => `${args} ${session?.handle}`);
    expect(await callCommand(who, "a")).toBe("a undefined");
    expect(await callCommand(who, "a", { session: { id: "ses_1", handle: "calm" }, agent: "dev" })).toBe("a calm");
  });

  it("give a reducer the replies", async () => {
    const count = reducer("count", (replies) => replies.length);
    expect(await callReducer(count, [{ handle: "a", text: "x" }])).toBe(1);
  });

  it("run a workflow with checked arguments on a context that remembers", async () => {
    const input = z.object({ times: z.number().default(2) });
    const ask = workflow("ask", { input, config: { who: "queue" } }, async (context, { times }) => {
      const answers: string[] = [];
      for (let n = 0; n < times; n++) answers.push(await context.delegate(context.config.who, `n${n}`));
      if ((await context.askHuman("Good?", { options: ["yes", "no"] })) === "no") throw new WorkflowError("not good");
      return answers;
    });
    const config = { who: "work" };
    const context = fakeWorkflowContext({
      config,
      delegate: (queue, payload) => `${queue}:${payload}`,
      askHuman: () => "yes",
    });
    expect(await runWorkflow(ask, context)).toEqual(["work:n0", "work:n1"]);
    expect(context.calls.at(-1)).toEqual({ method: "askHuman", args: ["Good?", ["yes", "no"]] });
    await expect(runWorkflow(ask, context, { times: "two" })).rejects.toThrow("wrong input");
    const strict = fakeEngine({ config, delegate: () => "", askHuman: () => "no" });
    await expect(runWorkflow(ask, strict)).rejects.toThrow(WorkflowError);
  });
});
