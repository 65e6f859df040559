/** Tools that ask several sessions at once and return one result. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { endableSession, endRefusal } from "@aegis/agents/rights/may-end.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { groupNameSchema, groupSpawnMax, groupWaitMax } from "@aegis/contract/group.ts";
import { type BroadcastId, isId } from "@aegis/contract/ids.ts";
import { handleExpected, handleMaxLength, handlePattern } from "@aegis/contract/session.ts";
import type { Broadcasts } from "@aegis/delegation/groups/broadcasts.ts";
import type { Groups } from "@aegis/delegation/groups/groups.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import { type AgentTool, type AgentToolContext, defineTool } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import type { Store } from "@aegis/store/store.ts";
import { z } from "zod";
import { causeOf, checkFromHandle, enderOf, fromHandle, senderOf } from "./caller.ts";

export type GroupToolsOptions = {
  store: Store;
  groups: Groups;
  broadcasts: Broadcasts;
  turns: Turns;
  agents: AgentTable;
};

const group = z.string().describe("a group's name");
const field = z.string().min(1);
const timeout = z
  .number()
  .min(0)
  .max(groupWaitMax)
  .optional()
  .describe("in seconds; default: the group's setting, or 600");

/** A turn that is repeated after a crash, or another sender, may have another broadcast in mind than the last one. */
const broadcastId = z
  .string()
  .optional()
  .describe("the broadcast_id that aegis_group_broadcast returned; default: the group's last broadcast");

/** Throws `not_found` for a text that is no id of a broadcast. */
function namedBroadcast(id: string | undefined): BroadcastId | undefined {
  if (id === undefined || isId("brd", id)) return id;
  throw new AegisError("not_found", `no broadcast "${id}"`, {
    hint: "pass the broadcast_id that aegis_group_broadcast returned, or none for the group's last broadcast",
  });
}

export function groupTools(options: GroupToolsOptions): AgentTool[] {
  return [spawn(options), broadcast(options), waitAll(options), waitAny(options), status(options), dissolve(options)];
}

function spawn({ groups }: GroupToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_group_spawn",
    description:
      "Start sessions in a group to ask them together; creates the group if needed. The sessions start idle.",
    input: z.object({
      group: groupNameSchema,
      profiles: z.array(z.string()).min(1).max(groupSpawnMax).optional().describe("names of agents, one session each"),
      preset: z.string().optional().describe("a preset of the configuration, instead of profiles"),
      handle: z
        .string()
        .max(handleMaxLength)
        .regex(handlePattern, handleExpected)
        .optional()
        .describe("for a single profile"),
    }),
    readOnly: false,
    async run({ group: name, profiles, preset, handle }, { key, caller }) {
      const members = { agents: profiles, preset, handle, starter: caller.id };
      const { handles } = await groups.spawn({ group: name, ...members, key });
      return { handles, group: name };
    },
  });
}

function broadcast({ broadcasts, turns }: GroupToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_group_broadcast",
    description: "Send the same request to every member of a group. Returns immediately; one broadcast at a time.",
    input: z.object({
      group,
      objective: field.describe("what to achieve"),
      output_format: field,
      tool_guidance: field.describe("which tools to use and how"),
      boundaries: field.describe("what not to touch"),
      from_handle: fromHandle,
    }),
    readOnly: false,
    async run({ from_handle, ...brief }, context) {
      checkFromHandle(from_handle, context);
      const { id } = await broadcasts.send({
        ...brief,
        id: derivedId("brd", context.key),
        sender: senderOf(context),
        cause: causeOf(context, turns),
      });
      return { broadcast_id: id };
    },
  });
}

function waitAll({ broadcasts }: GroupToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_group_wait_all",
    description: "Wait for every reply to a broadcast of the group. Members in `timeouts` may still reply: wait again.",
    input: z.object({
      group,
      broadcast_id: broadcastId,
      timeout,
      reducer: z
        .string()
        .optional()
        .describe("how to compute `combined`: concat (default), join_by_handle, last_wins, majority_vote"),
    }),
    readOnly: true,
    run: ({ broadcast_id, ...input }, { caller, signal }) =>
      broadcasts.wait({ ...input, broadcast: namedBroadcast(broadcast_id), mode: "all", caller: caller.id }, signal),
  });
}

function waitAny(options: GroupToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_group_wait_any",
    description: "Wait for the first successful reply to a broadcast of the group.",
    input: z.object({
      group,
      broadcast_id: broadcastId,
      timeout,
      cancel_losers: z.boolean().default(true).describe("stop the other members after the first reply"),
    }),
    readOnly: false,
    async run({ broadcast_id, ...input }, context) {
      const broadcast = namedBroadcast(broadcast_id);
      if (input.cancel_losers) await checkMayEnd(options, input.group, context, "stop", broadcast);
      const { caller, signal } = context;
      return options.broadcasts.wait({ ...input, broadcast, mode: "any", caller: caller.id }, signal);
    },
  });
}

function status({ groups }: GroupToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_group_status",
    description: "List a group's members, and who has replied to its last broadcast.",
    input: z.object({ group }),
    readOnly: true,
    async run(input) {
      const { name, members, broadcast: last } = await groups.view(input.group);
      const replies = new Map(last?.members.map((member) => [member.session, member.status]));
      return {
        group: name,
        members: members.map(({ session, handle, agent, state }) => ({
          handle,
          agent_slug: agent,
          state,
          reply: replies.get(session) ?? null,
        })),
        broadcast: last && { broadcast_id: last.id, open: last.settled_at === null, objective: last.objective },
      };
    },
  });
}

function dissolve(options: GroupToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_group_dissolve",
    description: "Close every member of a group permanently, even in mid-turn, and free its name.",
    input: z.object({ group }),
    readOnly: false,
    async run(input, context) {
      await checkMayEnd(options, input.group, context, "close");
      return options.groups.dissolve(input.group, context.caller.id);
    },
  });
}

/** Throws `forbidden` unless the caller may end every open member. The caller may always withdraw its own broadcast. */
async function checkMayEnd(
  { store, groups, agents }: GroupToolsOptions,
  name: string,
  context: AgentToolContext,
  what: "close" | "stop",
  id?: BroadcastId,
): Promise<void> {
  const { members, broadcast: last } = await groups.view(name);
  const sender = (id === undefined ? last : await store.read.broadcasts.get(id))?.sender;
  if (what === "stop" && sender?.kind === "agent" && sender.session === context.caller.id) return;
  const ender = await enderOf(store, context, agents);
  for (const { session } of members) {
    const row = await store.read.sessions.get(session);
    if (row === null || row.closed_at !== null || row.id === context.caller.id) continue;
    const refusal = endRefusal(ender, endableSession(row, agents));
    if (refusal === null) continue;
    throw new AegisError("forbidden", `refused: you may not ${what} the members of group "${name}": ${refusal}`, {
      hint: what === "stop" ? "use cancel_losers: false" : "leave it to a person",
    });
  }
}
