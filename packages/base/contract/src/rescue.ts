/** Work of a removed worktree that Aegis keeps in the repository. */
import { z } from "zod";
import { sessionIdSchema } from "./schema-ids.ts";

export const rescueSchema = z.object({
  /** `<session>.<time>`. */
  id: z.string(),
  session: sessionIdSchema,
  handle: z.string(),
  ref: z.string(),
  commit: z.string(),
  at: z.number(),
  /** Why the worktree was removed. */
  reason: z.string(),
  branch: z.string().nullable(),
  head: z.string().nullable(),
  /** How many of its files differ from the commit that was checked out. */
  files: z.int(),
  /** Sockets, pipes and devices, which git cannot store. */
  skipped: z.array(z.string()),
});
export type Rescue = z.infer<typeof rescueSchema>;

/** The files that differ from the commit that was checked out. */
export const rescueDetailSchema = rescueSchema.extend({ changed: z.array(z.string()) });
export type RescueDetail = z.infer<typeof rescueDetailSchema>;
