import type { HookContexts } from "@aegis/contract/hook.ts";
import type { ConversationHost, ToolUse } from "@aegis/drivers/driver.ts";
import { hook, type TestHook } from "@aegis/test/helpers/hooks.ts";
import { eventsOfType } from "@aegis/test/helpers/runtime.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { answer, never, start } from "./stage.ts";

describe("tools", () => {
  /** The host of an open conversation. */
  async function hostOf(hooks: readonly TestHook[]) {
    const started = await start(hooks);
    const session = await answer(started.runtime, "hello");
    const host = started.driver.turns[0]?.spec.host;
    if (host === undefined) throw new Error("no conversation was opened");
    return { ...started, session, host };
  }
  const list = (host: ConversationHost) => host.tools.call("aegis_list_sessions", {}, { key: "k", signal: never });
  const close = (host: ConversationHost, handle: unknown) =>
    host.tools.call("aegis_close", { handle }, { key: "k", signal: never });
  const bash: ToolUse = { call: "c1", tool: "Bash", kind: "execute", input: { command: "rm -rf /" } };

  it("of the plane are denied by a gate, with the reason as the answer", async () => {
    const { host } = await hostOf([hook("pre_tool_use", ({ tool }) => ({ decision: "deny", reason: `no ${tool}` }))]);
    const outcome = await list(host);
    expect(outcome).toEqual({
      output: "aegis_list_sessions was denied: no aegis_list_sessions",
      is_error: true,
    });
  });

  it("of the plane run with the input a gate gives them, which is checked again", async () => {
    const input: unknown[] = [{ handle: "nobody-here" }, { handle: 7 }];
    const { host } = await hostOf([hook("pre_tool_use", () => ({ decision: "allow", input: input.shift() }))]);
    expect((await close(host, "calm-moore")).output).toContain("nobody-here");
    expect((await close(host, "calm-moore")).output).toContain("wrong input for aegis_close");
  });

  it("of the plane are shown to gates as what they are, and only when they could run", async () => {
    const seen: HookContexts["pre_tool_use"][] = [];
    const { host, session } = await hostOf([hook("pre_tool_use", (context) => void seen.push(context))]);
    await close(host, 7);
    await host.tools.call("no_such_tool", {}, { key: "k", signal: never });
    expect(seen).toEqual([]);
    await list(host);
    expect(seen).toMatchObject([
      { tool: "aegis_list_sessions", kind: "read", plugin: null, input: {}, session: { id: session.id } },
    ]);
  });

  it("wait for a person when a gate asks for one", async () => {
    const { host, runtime } = await hostOf([
      hook("pre_tool_use", () => ({ decision: "ask", reason: "list them all?" })),
    ]);
    const call = list(host);
    await waitUntil("the question is open", async () => (await eventsOfType(runtime.store, "ask.opened")).length === 1);
    const [ask] = await runtime.asks.list({ status: "open", limit: 1 });
    expect(ask).toMatchObject({ question: "list them all?", tool: "aegis_list_sessions", kind: "permission" });
    await runtime.asks.answer(ask?.id as never, { choice: "deny", text: "" });
    expect(await call).toEqual({ output: "aegis_list_sessions was denied: denied by a person", is_error: true });
  });

  it("have their results changed, also those of a call that failed", async () => {
    const seen: HookContexts["after_tool_call"][] = [];
    const { host } = await hostOf([
      hook("after_tool_call", (context) => {
        seen.push(context);
        return "redone";
      }),
    ]);
    expect(await list(host)).toEqual({ output: "redone", is_error: false });
    expect(await close(host, "someone-else")).toEqual({ output: "redone", is_error: true });
    expect(seen).toMatchObject([{ isError: false }, { isError: true, input: { handle: "someone-else" } }]);
  });

  it("of the harness are judged through the driver, those of the plane not twice", async () => {
    const seen: string[] = [];
    const { host, undo } = await hostOf([
      hook("pre_tool_use", ({ tool }) => {
        seen.push(tool);
        return { decision: "deny", reason: "no" };
      }),
      hook("after_tool_call", ({ result }) => `${result}!`),
    ]);
    expect(host.gated).toBe(true);
    expect(await host.beforeTool(bash, never)).toEqual({ decision: "deny", reason: "no" });
    expect(await host.beforeTool({ ...bash, tool: "aegis_handoff" }, never)).toEqual({ decision: "allow" });
    expect(await host.afterTool(bash, { output: "done", is_error: false }, never)).toBe("done!");
    expect(seen).toEqual(["Bash"]);
    undo();
    expect(host.gated).toBe(false);
    expect(await host.beforeTool(bash, never)).toEqual({ decision: "allow" });
  });
});
