/** What a confined program reaches. A policy is resolved once for each start; nothing else interprets the settings. */
import type { HostRule } from "./host-rules.ts";

/** Paths are absolute. One that does not exist is skipped: nothing is ever created for it. The deepest path decides. */
export type SandboxPolicy = {
  level: "workspace" | "strict";
  /** May be read and changed. */
  write: readonly string[];
  /** May be read, although a path above it may be changed. A path above it cannot be renamed either. */
  protect: readonly string[];
  /** Appears empty, and refuses writes. */
  hide: readonly string[];
  /** May be read, although a path above it is hidden. */
  show: readonly string[];
  /** A folder that appears in the place of another and may be changed. */
  instead: readonly { folder: string; at: string }[];
  /** A private folder that appears as `/tmp`. */
  tmp: string;
  /** Hosts beside this machine that it may connect to. */
  hosts: readonly HostRule[];
  /** Ports of this machine's loopback address that it may connect to. */
  ports: readonly number[];
};
