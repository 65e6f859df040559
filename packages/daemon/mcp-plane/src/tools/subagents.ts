/** Tools that start, message, inspect and end subagents. */

import { cleanupSchema, subagentLabelMaxLength, subagentStatusSchema } from "@aegis/contract/subagent.ts";
import { isolationSchema } from "@aegis/contract/worktree.ts";
import type { Subagents } from "@aegis/delegation/subagents/subagents.ts";
import type { AgentCommands } from "@aegis/hooks/agent-commands.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import { type AgentTool, defineTool } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import { z } from "zod";
import { causeOf, senderOf } from "./caller.ts";
import { agentCheck, checkArgument } from "./check.ts";

export type SubagentToolsOptions = { subagents: Subagents; turns: Turns; clock: Clock; commands: AgentCommands };

const defaultSendTimeout = 60;
const longestTimeout = 7 * 24 * 3_600;

const seconds = z.number().positive().max(longestTimeout);
const reference = z.string().describe("its run_id or label; parent/child for a nested subagent");
const label = z
  .string()
  .trim()
  .min(1)
  .max(subagentLabelMaxLength)
  .regex(/^[^"/\p{Cc}]+$/u, "expected a short name without quotes and slashes");

export function subagentTools(options: SubagentToolsOptions): AgentTool[] {
  return [spawn(options), send(options), list(options), history(options), kill(options)];
}

function spawn({ subagents, turns, commands }: SubagentToolsOptions): AgentTool {
  return defineTool({
    name: "sessions_spawn",
    description:
      "Start a subagent on a task without waiting. It sees only the task. Its result arrives as a message when it and everything it started have ended; end your turn to wait for it.",
    input: z.object({
      agent_id: z.string().optional().describe("a name from aegis_list_agents; default: your own agent"),
      task: z.string().min(1).describe("everything it needs to know"),
      label: label.optional().describe("your name for it"),
      model: z.string().min(1).max(200).optional(),
      timeout: seconds.optional().describe("seconds"),
      isolation: isolationSchema.optional().describe("worktree: give it its own git worktree"),
      check: checkArgument,
      cleanup: cleanupSchema.default("keep").describe("delete: remove it from the list when it has ended"),
    }),
    readOnly: false,
    async run(input, context) {
      const row = await subagents.spawn({
        caller: context.caller.id,
        callerAgent: context.agent,
        key: context.key,
        agent: input.agent_id,
        task: input.task,
        label: input.label,
        model: input.model,
        timeout: input.timeout,
        isolation: input.isolation,
        cleanup: input.cleanup,
        check: await agentCheck(input.check, context, commands),
        cause: causeOf(context, turns),
      });
      return `Spawned: ${row.run_id} (agent: ${row.agent}, label: ${row.label})`;
    },
  });
}

function send({ subagents, turns }: SubagentToolsOptions): AgentTool {
  return defineTool({
    name: "sessions_send",
    description:
      "Send a message to a running subagent of yours and wait for its reply. After a timeout the message stays in its inbox.",
    input: z.object({
      run_id_or_label: reference,
      message: z.string().min(1),
      timeout: seconds.default(defaultSendTimeout).describe("seconds to wait for the reply"),
    }),
    readOnly: false,
    sideBySide: { orderedBy: "run_id_or_label" },
    async run(input, context) {
      const { to, message, reply } = await subagents.send({
        caller: context.caller.id,
        sender: senderOf(context),
        to: input.run_id_or_label,
        text: input.message,
        id: derivedId("msg", context.key),
        cause: causeOf(context, turns),
        timeoutMs: input.timeout * 1_000,
        signal: context.signal,
      });
      const { run_id } = to;
      if (reply === null) return { status: "timeout", run_id, admitted: true, message_id: message };
      const { reason, error } = reply.turn;
      if (reason === "completed") return { status: "replied", run_id, reply: reply.text };
      return { status: reason, run_id, error: error?.message ?? null, reply: reply.text };
    },
  });
}

function list({ subagents, clock }: SubagentToolsOptions): AgentTool {
  return defineTool({
    name: "sessions_list",
    description: "List your subagents and those below them.",
    input: z.object({ status_filter: subagentStatusSchema.optional() }),
    readOnly: true,
    async run({ status_filter }, { caller }) {
      const rows = await subagents.below(caller.id, status_filter);
      return rows.map((row) => ({
        run_id: row.run_id,
        label: row.path,
        agent_id: row.agent,
        status: row.status,
        depth: row.depth,
        runtime_s: Math.round(((row.ended_at ?? clock.now()) - row.created_at) / 1_000),
      }));
    },
  });
}

function history({ subagents }: SubagentToolsOptions): AgentTool {
  return defineTool({
    name: "sessions_history",
    description: "Read the newest 10,000 characters of the conversation of a subagent of yours.",
    input: z.object({ run_id: reference }),
    readOnly: true,
    run: ({ run_id }, { caller }) => subagents.history(caller.id, run_id),
  });
}

function kill({ subagents }: SubagentToolsOptions): AgentTool {
  return defineTool({
    name: "sessions_kill",
    description: "End a subagent of yours and everything below it. Returns how many were ended.",
    input: z.object({ run_id: reference }),
    readOnly: false,
    run: ({ run_id }, { caller }) => subagents.kill(caller.id, run_id),
  });
}
