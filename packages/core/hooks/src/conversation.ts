/** The hooks inside an open conversation: process start, the harness's own tools, and the input of the model. */
import { planeServer } from "@aegis/contract/tool-names.ts";
import {
  type CallVerdict,
  type ConversationHost,
  DriverError,
  type PermissionAnswer,
  type PermissionRequest,
  type ToolUse,
} from "@aegis/drivers/driver.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import type { FileClaims } from "@aegis/worktrees/claims/claims.ts";
import type { HookBus } from "./bus.ts";
import { type FileGuard, type OwnFolders, worktreeFolder } from "./file-guard.ts";
import { overlaid } from "./hook-compose.ts";
import { hookSession } from "./subject.ts";

export type ConversationHooksOptions = {
  bus: HookBus;
  store: Store;
  log: Logger;
  projectRoot: string;
  /** The built-in gate, and the session's own folders. */
  guard: FileGuard;
  guarded: readonly string[];
  ownFolders: (session: SessionRow) => OwnFolders;
  claims: Pick<FileClaims, "begins" | "ended" | "read">;
  /** Aborts when the daemon is forced to stop. */
  signal: AbortSignal;
};

export type ConversationHooks = Pick<
  ConversationHost,
  "prepareSpawn" | "gated" | "guarded" | "beforeTool" | "afterTool" | "endTool" | "noteRead" | "beforeModel"
> & {
  /** Others may change the files of a call while a person is asked about it; they are checked again afterwards. */
  whileAsked(
    request: PermissionRequest,
    signal: AbortSignal,
    ask: () => Promise<PermissionAnswer>,
  ): Promise<PermissionAnswer>;
};

/** `isPlaneTool` identifies tools for which the plane already ran the hooks, so that hooks are not called twice. */
export function conversationHooks(
  options: ConversationHooksOptions,
  session: SessionRow,
  isPlaneTool: (name: string) => boolean,
): ConversationHooks {
  const { bus, store, log, projectRoot, claims, signal: end } = options;
  const hookEvents = bus.events;
  // The session may have been renamed since the conversation was opened.
  const subject = async () => hookSession((await store.read.sessions.get(session.id)) ?? session);
  const contextOf = async ({ call, tool, kind, input }: ToolUse) => {
    return { session: await subject(), call, tool, kind, plugin: null, input };
  };
  const skipped = (what: string) => (error: unknown) =>
    log.error(what, { session: session.id, error: errorText(error) });

  const unjudged = (error: unknown) => {
    skipped("a tool call could not be checked")(error);
    return { decision: "deny" as const, reason: `denied because it could not be checked: ${errorText(error)}` };
  };

  const pluginVerdict = async (use: ToolUse, signal: AbortSignal): Promise<CallVerdict> => {
    if (!hookEvents.has("pre_tool_use")) return { decision: "allow" };
    const verdict = await bus.run("pre_tool_use", await contextOf(use), signal);
    return verdict.decision === "ask" ? { ...verdict, reason: verdict.reason ?? null } : verdict;
  };

  return {
    async prepareSpawn(command) {
      if (!hookEvents.has("pre_spawn")) return command;
      const { argv, env, cwd } = command;
      const context = { session: await subject(), argv, env, cwd, projectRoot, priorResults: [] };
      const outcome = await bus.run("pre_spawn", context, end);
      if (outcome.blocked !== null) throw new DriverError({ code: "blocked", message: outcome.blocked });
      const [program = argv[0], ...rest] = outcome.argv ?? argv;
      return { argv: [program, ...rest], env: overlaid(env, outcome.env), cwd };
    },

    get gated() {
      return hookEvents.has("pre_tool_use");
    },

    guarded: options.guarded,

    async beforeTool(use, signal) {
      if (isPlaneTool(use.tool)) return { decision: "allow" };
      try {
        const verdict = await pluginVerdict(use, signal);
        if (verdict.decision === "deny") return verdict;
        // Runs after the plugins, on the input that would be used, and no plugin can override it.
        const judged = { ...use, input: verdict.input ?? use.input };
        const worktree = await worktreeFolder(store, session.id, projectRoot);
        const reason = await options.guard(judged, options.ownFolders(session), worktree);
        const refusal = await claims.begins(session.id, judged, signal);
        if (refusal !== null) return { decision: "deny", reason: refusal };
        if (reason === null) return verdict;
        const more = verdict.decision === "ask" && verdict.reason !== null ? `; ${verdict.reason}` : "";
        return { ...verdict, decision: "ask", reason: `${reason}${more}`, once: true };
      } catch (error) {
        return unjudged(error);
      }
    },

    async whileAsked(request, signal, ask) {
      if (request.files === undefined) return ask();
      const { call, tool, kind, input, files } = request;
      const use = { call, tool, kind, input, files };
      await claims.ended(session.id, use, { ran: false });
      const answer = await ask();
      if (answer.decision === "deny") return answer;
      try {
        const reason = await claims.begins(session.id, { ...use, input: answer.input ?? input }, signal);
        return reason === null ? answer : { decision: "deny", reason };
      } catch (error) {
        return unjudged(error);
      }
    },

    endTool: (use) => claims.ended(session.id, use, { ran: false }),

    noteRead: (paths) => void claims.read(session.id, paths),

    async afterTool(use, { output, is_error }, signal) {
      await claims.ended(session.id, use, { ran: !is_error });
      if (!hookEvents.has("after_tool_call") || isPlaneTool(use.tool)) return null;
      try {
        const context = { ...(await contextOf(use)), result: output, isError: is_error };
        return (await bus.run("after_tool_call", context, signal)).result;
      } catch (error) {
        skipped("a tool's result could not be shown to hooks")(error);
        return null;
      }
    },

    async beforeModel(request, signal) {
      if (!hookEvents.has("before_agent_start")) return request;
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

/** The name under which a harness calls a tool of the plane over MCP. */
export function isNamedPlaneTool(name: string): boolean {
  const prefix = `mcp__${planeServer}`;
  return name === prefix || name.startsWith(`${prefix}__`);
}
