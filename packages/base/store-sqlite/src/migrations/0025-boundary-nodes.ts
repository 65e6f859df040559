import type { Migration } from "../migrate.ts";

/** `boundaries.node`: the node whose folder it is; null for an embedded database and for rows of older versions. */
export const boundaryNodes: Migration = {
  version: 25,
  sql: "ALTER TABLE boundaries ADD COLUMN node TEXT;",
};
