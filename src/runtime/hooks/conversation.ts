/** The hooks inside an open conversation: how its process starts, what its harness's own tools do, what its model reads. */
import { planeServer } from "../../contract/tool-names.ts";
import { type ConversationHost, DriverError, type ToolUse } from "../../drivers/driver.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import { overlaid } from "../registry/hook-compose.ts";
import type { HookBus } from "./bus.ts";
import { hookSession } from "./subject.ts";

export type ConversationHooksOptions = {
  bus: HookBus;
  store: Store;
  log: Logger;
  projectRoot: string;
  /** Aborts when the daemon may no longer wait for anything. */
  signal: AbortSignal;
};

export type ConversationHooks = Pick<
  ConversationHost,
  "prepareSpawn" | "gated" | "beforeTool" | "afterTool" | "beforeModel"
>;

/** `isPlaneTool` names tools that the plane has judged by the time they run: hooks are not called twice for them. */
export function conversationHooks(
  options: ConversationHooksOptions,
  session: SessionRow,
  isPlaneTool: (name: string) => boolean,
): ConversationHooks {
  const { bus, store, log, projectRoot, signal: end } = options;
  // The row may have been renamed since the conversation was opened.
  const subject = async () => hookSession((await store.read.sessions.get(session.id)) ?? session);
  const contextOf = async ({ call, tool, kind, input }: ToolUse) => {
    return { session: await subject(), call, tool, kind, plugin: null, input };
  };
  const skipped = (what: string) => (error: unknown) =>
    log.error(what, { session: session.id, error: errorText(error) });

  return {
    async prepareSpawn(command) {
      if (!bus.has("pre_spawn")) return command;
      const { argv, env, cwd } = command;
      const context = { session: await subject(), argv, env, cwd, projectRoot, priorResults: [] };
      const outcome = await bus.run("pre_spawn", context, end);
      if (outcome.blocked !== null) throw new DriverError({ code: "blocked", message: outcome.blocked });
      const [program = argv[0], ...rest] = outcome.argv ?? argv;
      return { argv: [program, ...rest], env: overlaid(env, outcome.env), cwd };
    },

    get gated() {
      return bus.has("pre_tool_use");
    },

    async beforeTool(use, signal) {
      if (!bus.has("pre_tool_use") || isPlaneTool(use.tool)) return { decision: "allow" };
      try {
        const verdict = await bus.run("pre_tool_use", await contextOf(use), signal);
        return verdict.decision === "ask" ? { ...verdict, reason: verdict.reason ?? null } : verdict;
      } catch (error) {
        skipped("a tool call could not be judged")(error);
        return { decision: "deny", reason: `denied because it could not be judged: ${errorText(error)}` };
      }
    },

    async afterTool(use, { output, is_error }, signal) {
      if (!bus.has("after_tool_call") || isPlaneTool(use.tool)) return null;
      try {
        const context = { ...(await contextOf(use)), result: output, isError: is_error };
        return (await bus.run("after_tool_call", context, signal)).result;
      } catch (error) {
        skipped("a tool's result could not be shown to hooks")(error);
        return null;
      }
    },

    async beforeModel(request, signal) {
      if (!bus.has("before_agent_start")) return request;
      try {
        const outcome = await bus.run("before_agent_start", { session: await subject(), ...request }, signal);
        return {
          systemPrompt: outcome.systemPrompt ?? request.systemPrompt,
          messages: outcome.messages ?? request.messages,
        };
      } catch (error) {
        skipped("a model call could not be shown to hooks")(error);
        return request;
      }
    },
  };
}

/** How a harness that reaches the plane over MCP calls its tools. */
export function isNamedPlaneTool(name: string): boolean {
  const prefix = `mcp__${planeServer}`;
  return name === prefix || name.startsWith(`${prefix}__`);
}
