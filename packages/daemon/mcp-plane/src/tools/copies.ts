/** Tools about the files that sessions change. */

import { mostClaimed } from "@aegis/contract/claim.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import { type AgentTool, defineTool } from "@aegis/sessions/tools/tools.ts";
import type { SessionChanges } from "@aegis/worktrees/changes.ts";
import type { FileClaims } from "@aegis/worktrees/claims/claims.ts";
import { z } from "zod";

export type CopyToolsOptions = {
  sessions: Pick<Sessions, "resolve">;
  changes: SessionChanges;
  claims: Pick<FileClaims, "claim" | "release">;
};

export function copyTools(options: CopyToolsOptions): AgentTool[] {
  return [changes(options), claim(options), release(options)];
}

function changes({ sessions, changes: service }: CopyToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_changes",
    description: "Show which files a session changed in a git project, to review its work.",
    input: z.object({
      session: z.string().describe("a handle from aegis_list_sessions"),
      turn: z.string().max(64).optional().describe("last, or a number from 1; default: all turns"),
      patch: z.boolean().default(false).describe("also return the diff"),
    }),
    readOnly: true,
    async run({ session, turn, patch }) {
      const answer = await service.of(await sessions.resolve(session), { turn, patch });
      if (!answer.git) return `${answer.handle} does not work in a git repository, so no changes are recorded`;
      return answer;
    },
  });
}

const files = z.array(z.string().min(1).max(4096)).min(1).max(mostClaimed);

function claim({ claims }: CopyToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_claim",
    description: "Claim files for this turn, so that no other session edits them.",
    input: z.object({
      paths: files,
      wait_seconds: z.number().min(0).max(60).default(10).describe("how long to wait for another session"),
    }),
    readOnly: false,
    permission: "write",
    async run({ paths, wait_seconds }, { caller, signal }) {
      const held = await claims.claim(caller.id, paths, wait_seconds * 1000, signal);
      if (held.length === 0) return "not needed: you work in a worktree of your own";
      return { claimed: held.map(({ path }) => path), until: "the end of your turn, at most 10 minutes from now" };
    },
  });
}

function release({ claims }: CopyToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_release",
    description: "Release files that you claimed.",
    input: z.object({ paths: files.optional().describe("default: all") }),
    readOnly: false,
    permission: "write",
    async run({ paths }, { caller }) {
      return { released: await claims.release(caller.id, paths ?? null) };
    },
  });
}
