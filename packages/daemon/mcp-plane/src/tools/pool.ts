/** Tools that give a task to a pooled agent and ask it follow-up questions. */

import { AegisError, type ErrorCode, isAegisError } from "@aegis/contract/errors.ts";
import { type Thoroughness, thoroughnessSchema } from "@aegis/delegation/pool/lease-request.ts";
import type { Pool, PoolAnswer, PoolCall } from "@aegis/delegation/pool/pool.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import { type AgentTool, type AgentToolContext, defineTool } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import { z } from "zod";
import { causeOf, senderOf } from "./caller.ts";

export type PoolToolsOptions = { pool: Pool; turns: Turns };

const thoroughness = thoroughnessSchema.default("uncapped").describe("the timeout: 1, 3 or 6 minutes, or none");

export function poolTools(options: PoolToolsOptions): AgentTool[] {
  return [run(options), ask(options)];
}

function run(options: PoolToolsOptions): AgentTool {
  return defineTool({
    name: "agent",
    description:
      "Have an agent do a task and wait for its result. It may remember earlier tasks; use agent_ask for follow-up questions.",
    input: z.object({
      agent_name: z.string().optional().describe("a name from aegis_list_agents"),
      agent_type: z.string().optional().describe("same as agent_name"),
      task_prompt: z.string().describe("everything it needs to know"),
      thoroughness,
      context_files: z.array(z.string().min(1).max(4_096)).max(100).default([]).describe("files to read first"),
      fresh: z.boolean().default(false).describe("use an agent without memory of earlier tasks"),
    }),
    readOnly: false,
    sideBySide: { orderedBy: null },
    run: (input, context) =>
      typed(() =>
        options.pool.run({
          ...callOf(options, input.thoroughness, context),
          agent: input.agent_name ?? input.agent_type ?? "",
          prompt: input.task_prompt,
          files: input.context_files,
          fresh: input.fresh,
        }),
      ),
  });
}

function ask(options: PoolToolsOptions): AgentTool {
  return defineTool({
    name: "agent_ask",
    description: "Ask an agent about a task that it did for you; it remembers the task.",
    input: z.object({ agent_id: z.string().describe("an id returned by agent"), message: z.string(), thoroughness }),
    readOnly: false,
    sideBySide: { orderedBy: "agent_id" },
    run: (input, context) =>
      typed(() =>
        options.pool.ask({
          ...callOf(options, input.thoroughness, context),
          agent_id: input.agent_id,
          text: input.message,
        }),
      ),
  });
}

function callOf({ turns }: PoolToolsOptions, thoroughness: Thoroughness, context: AgentToolContext): PoolCall {
  return {
    caller: context.caller,
    callerAgent: context.agent,
    sender: senderOf(context),
    message: derivedId("msg", context.key),
    cause: causeOf(context, turns),
    thoroughness,
    signal: context.signal,
  };
}

const validation: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["invalid", "not_found", "too_large"]);
const permission: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["forbidden", "too_many"]);

/** Returns a refusal in the format that agents are taught to read. */
async function typed(work: () => Promise<PoolAnswer>): Promise<PoolAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!isAegisError(error)) throw error;
    const { code, message, hint } = error;
    const error_type = validation.has(code)
      ? "validation_error"
      : permission.has(code)
        ? "permission_error"
        : code === "timeout"
          ? "timeout_error"
          : "execution_error";
    const text = hint === undefined ? message : `${message} (${hint})`;
    throw new AegisError(code, JSON.stringify({ success: false, error: text, error_type }), { cause: error });
  }
}
