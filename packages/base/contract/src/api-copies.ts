/** The endpoints of working copies. */
import { z } from "zod";
import { count, endpoint, flag, sessionPath, storableText } from "./api-parts.ts";
import { changesSchema } from "./changes.ts";
import { claimSchema } from "./claim.ts";
import { landHowSchema, landingViewSchema } from "./landing.ts";
import { receiptViewSchema } from "./receipt.ts";
import { rescueDetailSchema, rescueSchema } from "./rescue.ts";
import { landingIdSchema } from "./schema-ids.ts";
import { baseRefMaxLength, baseRefPattern, worktreeSchema, worktreeViewSchema } from "./worktree.ts";

const rescuePath = z.object({ rescue: z.string().describe("a rescue's id, or a session's handle or id") });

export const copyEndpoints = {
  listWorktrees: endpoint("List the worktrees of sessions, oldest first", {
    output: z.object({ worktrees: z.array(worktreeViewSchema) }),
  }),
  landSession: endpoint("Land the work of a session on a branch; waits for its turn in the queue and for the result", {
    path: sessionPath,
    body: z.object({
      how: landHowSchema.default("squash"),
      check: z.string().min(1).max(10_000).optional().describe("a command that must succeed on the merged tree"),
      message: storableText
        .trim()
        .min(1)
        .max(10_000)
        .optional()
        .describe("the message of the commit; default: from the work"),
      to: z.string().max(baseRefMaxLength).regex(baseRefPattern, "expected a branch").optional(),
    }),
    output: z.object({ landing: landingViewSchema }),
  }),
  listLandings: endpoint("List landings, newest first", {
    query: z.object({ open: flag.describe("only those that wait or run") }),
    output: z.object({ landings: z.array(landingViewSchema) }),
  }),
  cancelLanding: endpoint("Cancel a landing that waits in the merge queue", {
    path: z.object({ landing: landingIdSchema }),
    output: z.object({ landing: landingViewSchema }),
  }),
  listClaims: endpoint("List the files that sessions have claimed", {
    output: z.object({ claims: z.array(claimSchema) }),
  }),
  removeWorktree: endpoint("Remove the worktree of a closed session; its files are rescued first", {
    path: sessionPath,
    output: z.object({ worktree: worktreeSchema }),
  }),
  listReceipts: endpoint("List receipts of checks, newest first", {
    query: z.object({
      of: z.string().max(200).optional().describe("a session, task, subagent, run or landing; default: all"),
      limit: count(1000, 100),
    }),
    output: z.object({ receipts: z.array(receiptViewSchema) }),
  }),
  listRescues: endpoint("List the rescued work of removed worktrees, newest first", {
    output: z.object({ rescues: z.array(rescueSchema) }),
  }),
  getRescue: endpoint("Get one rescue with its changed files", {
    path: rescuePath,
    output: z.object({ rescue: rescueDetailSchema }),
  }),
  restoreRescue: endpoint("Restore a rescue into a new worktree", {
    path: rescuePath,
    body: z.object({ dir: z.string().max(4096).optional().describe("an absolute path that does not exist yet") }),
    output: z.object({ dir: z.string(), branch: z.string().nullable() }),
  }),
  pruneRescues: endpoint("Drop rescues that are older", {
    body: z.object({ older_than_ms: z.int().min(0) }),
    output: z.object({ dropped: z.array(rescueSchema) }),
  }),
  findFiles: endpoint(
    "Find files in the folder in which a session works; in a git project ignored files are left out",
    {
      path: sessionPath,
      query: z.object({
        q: z.string().max(256).default("").describe("characters of the path, in order"),
        limit: count(100, 20),
      }),
      output: z.object({ files: z.array(z.string()).describe("relative to the folder, the best match first") }),
    },
  ),
  getChanges: endpoint("Get the changes that a session's turns made to files in a git project", {
    path: sessionPath,
    query: z.object({
      turn: z
        .string()
        .max(64)
        .optional()
        .describe("one turn: `last`, its number from 1, or its id; default: all turns"),
      patch: flag.describe("also return the patch"),
      file: z
        .string()
        .max(4096)
        .optional()
        .describe("also return the patch of this changed file only; its limit is 16 times higher"),
    }),
    output: z.object({ changes: changesSchema }),
  }),
};
