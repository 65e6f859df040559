/** File claims: which session may change a file of the project's folder. */
import { z } from "zod";
import { sessionIdSchema } from "./schema-ids.ts";

export const claimSchema = z.object({
  /** Relative to the project. */
  path: z.string(),
  session: sessionIdSchema,
  handle: z.string(),
  /** `edit`: for one edit, by Aegis. `claim`: requested with `aegis_claim`. */
  kind: z.enum(["edit", "claim"]),
  since: z.number(),
  /** When it ends at the latest. */
  until: z.number(),
  /** The handles of sessions that wait for the file, in order. */
  waiting: z.array(z.string()),
});
export type Claim = z.infer<typeof claimSchema>;

/**
 * `changed` and `deleted`: the file is not what the session read. `unread`: another session wrote it and this one has
 * not read it since. `held`: another session kept its claim. `circle`: the sessions would wait for each other. `limit`:
 * the session claims too much.
 */
export const claimRefusalSchema = z.enum(["changed", "deleted", "unread", "held", "circle", "limit"]);
export type ClaimRefusal = z.infer<typeof claimRefusalSchema>;

/** The most files that one call can claim. */
export const mostClaimed = 32;
