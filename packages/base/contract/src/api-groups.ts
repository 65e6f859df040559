/** The endpoints of groups and their broadcasts. */
import { z } from "zod";
import { endpoint, storableText } from "./api-parts.ts";
import {
  broadcastSchema,
  groupNameSchema,
  groupResultSchema,
  groupSpawnMax,
  groupViewSchema,
  groupWaitMax,
  repliesSchema,
} from "./group.ts";
import { broadcastIdSchema } from "./schema-ids.ts";
import { handleExpected, handleMaxLength, handlePattern } from "./session.ts";

const groupPath = z.object({ group: z.string().describe("a group's name") });
const field = storableText.min(1);

export const groupEndpoints = {
  listGroups: endpoint("List groups, oldest first", { output: z.object({ groups: z.array(groupViewSchema) }) }),
  getGroup: endpoint("Get one group, its members and its last broadcast", {
    path: groupPath,
    output: z.object({ group: groupViewSchema }),
  }),
  spawnGroup: endpoint("Start sessions in a group and create it if it does not exist; requires `agents` or `preset`", {
    path: z.object({ group: groupNameSchema }),
    body: z.object({
      agents: z.array(z.string()).min(1).max(groupSpawnMax).optional().describe("names of agents, one per session"),
      preset: z.string().optional().describe("a name under groups.presets of the configuration"),
      handle: z
        .string()
        .max(handleMaxLength)
        .regex(handlePattern, handleExpected)
        .optional()
        .describe("for a single agent"),
    }),
    output: z.object({ group: groupViewSchema, handles: z.array(z.string()) }),
  }),
  broadcastGroup: endpoint("Send one message to every member of a group; refused while an earlier broadcast is open", {
    path: groupPath,
    body: z.object({
      id: broadcastIdSchema.optional().describe("chosen by the sender to make the request idempotent"),
      objective: field,
      output_format: field.default("free text"),
      tool_guidance: field.default("none"),
      boundaries: field.default("none"),
    }),
    output: z.object({ broadcast: broadcastSchema }),
  }),
  waitGroup: endpoint("Wait for all replies to a group's last broadcast, or for the first successful one", {
    path: groupPath,
    body: z.object({
      mode: z.enum(["all", "any"]).default("all"),
      timeout: z.number().min(0).max(groupWaitMax).optional().describe("in seconds; 0 returns immediately"),
      reducer: z.string().optional().describe("how to combine the replies: concat join_by_handle last_wins …"),
      cancel_losers: z.boolean().default(true).describe("with `any`: cancel the other replies after the first one"),
      broadcast: broadcastIdSchema.optional().describe("an earlier broadcast of the group"),
    }),
    output: groupResultSchema,
  }),
  dissolveGroup: endpoint("Close the members of a group and delete the group", {
    path: groupPath,
    output: z.object({ group: z.string(), closed: z.array(z.string()) }),
  }),
  getBroadcast: endpoint("Get one broadcast and its replies so far", {
    path: z.object({ broadcast: broadcastIdSchema }),
    output: z.object({ broadcast: broadcastSchema, by_member: repliesSchema }),
  }),
};
