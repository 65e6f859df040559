/** The folders from which agent files are read. */
import { join } from "node:path";
import type { AgentSource } from "@aegis/contract/agent.ts";
import { harnesses } from "@aegis/drivers/all.ts";
import { assetPath } from "@aegis/lib/assets.ts";

export type AgentPlace = {
  source: Extract<AgentSource, "project" | "claude" | "user" | "builtin">;
  folder: string;
  /** Links must not leave this folder. Null for the user's own files. */
  within: string | null;
};

export function agentPlaces(root: string, home: string): AgentPlace[] {
  return [
    { source: "project", folder: join(root, ".aegis", "agents"), within: root },
    ...harnesses.flatMap(({ agentFolder }): AgentPlace[] =>
      agentFolder === null
        ? []
        : [{ source: agentFolder.source, folder: join(root, agentFolder.folder), within: root }],
    ),
    { source: "user", folder: join(home, ".aegis", "agents"), within: null },
    { source: "builtin", folder: assetPath("agents"), within: null },
  ];
}
