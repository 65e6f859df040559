/** The endpoints of groups and their broadcasts. */
import { z } from "zod";
import { type Endpoint, none, storableText } from "./api-parts.ts";
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
import { handleMaxLength, handlePattern } from "./session.ts";

const groupPath = z.object({ group: z.string().describe("a group's name") });
const field = storableText.min(1);

export const groupEndpoints = {
  listGroups: {
    summary: "Groups, oldest first",
    path: none,
    query: none,
    body: none,
    output: z.object({ groups: z.array(groupViewSchema) }),
  },
  getGroup: {
    summary: "One group, its members and its last broadcast",
    path: groupPath,
    query: none,
    body: none,
    output: z.object({ group: groupViewSchema }),
  },
  spawnGroup: {
    summary: "Start sessions in a group, which is made if it does not exist; give `agents` or `preset`",
    path: z.object({ group: groupNameSchema }),
    query: none,
    body: z.object({
      agents: z.array(z.string()).min(1).max(groupSpawnMax).optional().describe("agents' names, one per session"),
      preset: z.string().optional().describe("a name under groups.presets of the configuration"),
      handle: z
        .string()
        .max(handleMaxLength)
        .regex(handlePattern, "expected two or three lower-case words joined by dashes, as in lucid-knuth")
        .optional()
        .describe("for a single agent"),
    }),
    output: z.object({ group: groupViewSchema, handles: z.array(z.string()) }),
  },
  broadcastGroup: {
    summary: "Ask every member of a group the same; refused while an earlier broadcast is open",
    path: groupPath,
    query: none,
    body: z.object({
      id: broadcastIdSchema.optional().describe("chosen by the sender so that a repeated request adds nothing"),
      objective: field,
      output_format: field.default("free text"),
      tool_guidance: field.default("none"),
      boundaries: field.default("none"),
    }),
    output: z.object({ broadcast: broadcastSchema }),
  },
  waitGroup: {
    summary: "Wait for the replies to a group's last broadcast, or for the first good one",
    path: groupPath,
    query: none,
    body: z.object({
      mode: z.enum(["all", "any"]).default("all"),
      timeout: z.number().min(0).max(groupWaitMax).optional().describe("seconds; 0 looks and does not wait"),
      reducer: z.string().optional().describe("how the replies become one: concat join_by_handle last_wins …"),
      cancel_losers: z.boolean().default(true).describe("with `any`: let the others off once one has replied"),
      broadcast: broadcastIdSchema.optional().describe("an earlier broadcast of the group"),
    }),
    output: groupResultSchema,
  },
  dissolveGroup: {
    summary: "Close the members of a group and forget it",
    path: groupPath,
    query: none,
    body: none,
    output: z.object({ group: z.string(), closed: z.array(z.string()) }),
  },
  getBroadcast: {
    summary: "One broadcast and the replies so far",
    path: z.object({ broadcast: broadcastIdSchema }),
    query: none,
    body: none,
    output: z.object({ broadcast: broadcastSchema, by_member: repliesSchema }),
  },
} satisfies Record<string, Endpoint>;
