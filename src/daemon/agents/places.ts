/** The folders agent files are read from. */
import { join } from "node:path";
import type { AgentSource } from "../../contract/agent.ts";
import { assetPath } from "../../lib/assets.ts";

export type AgentPlace = {
  source: Extract<AgentSource, "project" | "claude" | "user" | "builtin">;
  folder: string;
};

export function agentPlaces(root: string, home: string): AgentPlace[] {
  return [
    { source: "project", folder: join(root, ".aegis", "agents") },
    { source: "claude", folder: join(root, ".claude", "agents") },
    { source: "user", folder: join(home, ".aegis", "agents") },
    { source: "builtin", folder: assetPath("agents") },
  ];
}
