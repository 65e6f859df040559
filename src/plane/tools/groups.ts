/** Tools to ask several sessions at once and get one result back. */
import { z } from "zod";
import { groupNameSchema, groupSpawnMax, groupWaitMax } from "../../contract/group.ts";
import { handleMaxLength, handlePattern } from "../../contract/session.ts";
import type { Broadcasts } from "../../runtime/groups/broadcasts.ts";
import type { Groups } from "../../runtime/groups/groups.ts";
import { derivedId } from "../../runtime/inbox/derived-id.ts";
import { defineTool, type Tool } from "../../runtime/registry/tools.ts";
import type { Turns } from "../../runtime/sessions/turns.ts";
import { causeOf, checkFromHandle, fromHandle, senderOf } from "./caller.ts";

export type GroupToolsOptions = { groups: Groups; broadcasts: Broadcasts; turns: Turns };

const group = z.string().describe("a group's name");
const field = z.string().min(1);
const timeout = z.number().min(0).max(groupWaitMax).optional().describe("seconds, 600 unless the group says otherwise");

export function groupTools(options: GroupToolsOptions): Tool[] {
  return [spawn(options), broadcast(options), waitAll(options), waitAny(options), status(options), dissolve(options)];
}

function spawn({ groups }: GroupToolsOptions): Tool {
  return defineTool({
    name: "aegis_group_spawn",
    description:
      "Start sessions in a group, made if there is none of that name, to ask them together. They start idle.",
    input: z.object({
      group: groupNameSchema,
      profiles: z.array(z.string()).min(1).max(groupSpawnMax).optional().describe("agents, one session each"),
      preset: z.string().optional().describe("instead of profiles: a preset of the configuration"),
      handle: z.string().max(handleMaxLength).regex(handlePattern).optional().describe("for a single profile"),
    }),
    readOnly: false,
    async run({ group: name, profiles, preset, handle }, { key, caller }) {
      const members = { agents: profiles, preset, handle, startedFor: caller.id };
      const { handles } = await groups.spawn({ group: name, ...members, key });
      return { handles, group: name };
    },
  });
}

function broadcast({ broadcasts, turns }: GroupToolsOptions): Tool {
  return defineTool({
    name: "aegis_group_broadcast",
    description: "Ask every member of a group the same. Returns at once; one broadcast at a time.",
    input: z.object({
      group,
      objective: field.describe("what to achieve"),
      output_format: field,
      tool_guidance: field.describe("which tools to use and how"),
      boundaries: field.describe("what to leave alone"),
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

function waitAll({ broadcasts }: GroupToolsOptions): Tool {
  return defineTool({
    name: "aegis_group_wait_all",
    description:
      "Wait for every reply to the group's last broadcast. Members in `timeouts` may still reply: wait again.",
    input: z.object({
      group,
      timeout,
      reducer: z
        .string()
        .optional()
        .describe("how `combined` is made: concat (default), join_by_handle, last_wins, majority_vote"),
    }),
    readOnly: true,
    run: (input, { caller, signal }) => broadcasts.wait({ ...input, mode: "all", caller: caller.id }, signal),
  });
}

function waitAny({ broadcasts }: GroupToolsOptions): Tool {
  return defineTool({
    name: "aegis_group_wait_any",
    description: "Wait for the first good reply to the group's last broadcast.",
    input: z.object({
      group,
      timeout,
      cancel_losers: z.boolean().default(true).describe("stop the other members then"),
    }),
    readOnly: false,
    run: (input, { caller, signal }) => broadcasts.wait({ ...input, mode: "any", caller: caller.id }, signal),
  });
}

function status({ groups }: GroupToolsOptions): Tool {
  return defineTool({
    name: "aegis_group_status",
    description: "A group's members, and who has replied to its last broadcast.",
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

function dissolve({ groups }: GroupToolsOptions): Tool {
  return defineTool({
    name: "aegis_group_dissolve",
    description: "Close every member of a group for good, mid-turn too, and free its name.",
    input: z.object({ group }),
    readOnly: false,
    run: (input, { caller }) => groups.dissolve(input.group, caller.id),
  });
}
