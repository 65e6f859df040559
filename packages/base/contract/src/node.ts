/** A node is one daemon of a cluster: several daemons that share one database. */
import { z } from "zod";

/** The name of a node. */
export const nodeNameSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, {
  error: "expected at most 63 letters, digits, dots, - and _, starting with a letter or a digit",
});

/**
 * How far the clock of a node may differ from that of the database. Leases use the database's clock, but rows and
 * schedules have the time of the node that wrote them.
 */
export const mostClockDifferenceMs = 60_000;

/** Labels that a node must have; the name of a node is also one. */
export const requiredLabelsSchema = z.array(nodeNameSchema).max(20);

export const nodeViewSchema = z.object({
  name: z.string(),
  /** Raised each time that the node joins. */
  incarnation: z.int(),
  /** `draining`: it takes no new work. `lost`: its lease has ended. */
  state: z.enum(["up", "draining", "lost"]),
  /** The node that answered the request. */
  here: z.boolean(),
  url: z.string().nullable(),
  version: z.string(),
  labels: z.array(z.string()),
  /** Its open sessions. Those of a lost node are away. */
  sessions: z.int(),
  max_sessions: z.int().nullable(),
  joined_at: z.number(),
  lost_at: z.number().nullable(),
  /** Its settings differ from those of most live nodes; in a tie, from those of the node that joined first. */
  drifted: z.boolean(),
});
export type NodeView = z.infer<typeof nodeViewSchema>;

/** The node in the stored owner of a run; null if no node of a cluster owns it. */
export function nodeOfOwner(owner: string | null): string | null {
  return /^(.+)\/\d+$/.exec(owner ?? "")?.[1] ?? null;
}
