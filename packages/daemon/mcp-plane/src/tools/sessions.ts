/** Tools that list the other sessions, start one, hand work off and close one. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { endableSession, endRefusal } from "@aegis/agents/rights/may-end.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { handleExpected, handleMaxLength, handlePattern } from "@aegis/contract/session.ts";
import { isolationSchema } from "@aegis/contract/worktree.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import { type AgentTool, defineTool } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import type { Store } from "@aegis/store/store.ts";
import { z } from "zod";
import { causeOf, checkFromHandle, enderOf, fromHandle, senderOf } from "./caller.ts";

const longestDescription = 200;

export type SessionToolsOptions = {
  store: Store;
  sessions: Sessions;
  inbox: Inbox;
  turns: Turns;
  agents: AgentTable;
};

export function sessionTools(options: SessionToolsOptions): AgentTool[] {
  return [listSessions(options), listAgents(options), spawn(options), handoff(options), close(options)];
}

function listSessions({ sessions }: SessionToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_list_sessions",
    description: "List the open sessions: the peers you can hand work to, and which of them are busy.",
    input: z.object({}),
    readOnly: true,
    async run(_, { caller }) {
      const rows = await sessions.list({ closed: false, client: caller.id });
      return rows.map((row) => ({
        handle: row.handle,
        agent_slug: row.agent,
        state: row.state,
        active: row.id === caller.id,
        unseen: row.unseen,
        title: row.title,
        ...(row.offline ? { offline: true } : {}),
      }));
    },
  });
}

function listAgents({ agents }: SessionToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_list_agents",
    description: "List the agents that aegis_spawn can start.",
    input: z.object({}),
    readOnly: true,
    async run() {
      return agents.listAgents().map(({ slug, description }) => ({ slug, ...aboutOf(description) }));
    },
  });
}

function spawn({ sessions, turns }: SessionToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_spawn",
    description: "Start a session of an agent as your peer. Returns its handle immediately; the peer works on its own.",
    input: z.object({
      agent: z.string().describe("a name from aegis_list_agents"),
      prompt: z.string().min(1).describe("its first message"),
      handle: z.string().max(handleMaxLength).regex(handlePattern, handleExpected).optional(),
      isolation: isolationSchema.optional().describe("worktree: give it its own git worktree"),
      from_handle: fromHandle,
    }),
    readOnly: false,
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const { session } = await sessions.create({
        isolation: input.isolation,
        id: derivedId("ses", context.key),
        agent: input.agent,
        handle: input.handle,
        prompt: input.prompt,
        sender: senderOf(context),
        cause: causeOf(context, turns),
        starter: context.caller.id,
      });
      return { handle: session.handle };
    },
  });
}

function handoff({ store, agents, sessions, inbox, turns }: SessionToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_handoff",
    description:
      "Pass context to a peer without waiting: it starts that session's next turn. Returns a receipt, not a reply.",
    input: z.object({
      target_handle: z.string().describe("a handle from aegis_list_sessions"),
      context: z.string().min(1).describe("everything the peer needs to know"),
      interrupt: z.boolean().default(false).describe("interrupt the peer's turn; only for sessions that you may close"),
      from_handle: fromHandle,
    }),
    readOnly: false,
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const target = input.target_handle;
      if (target === context.caller.handle || target === context.caller.id) {
        return "handoff rejected: cannot hand off to yourself";
      }
      const session = await sessions.resolve(target).catch((error: unknown) => {
        if (error instanceof AegisError && error.code === "not_found") return null;
        throw error;
      });
      if (!session || session.closed_at !== null) {
        return `handoff rejected: no session '${target}' (use aegis_list_sessions)`;
      }
      const refusal = input.interrupt
        ? endRefusal(await enderOf(store, context, agents), endableSession(session, agents))
        : null;
      if (refusal !== null) return `handoff rejected: cannot interrupt '${target}': ${refusal}`;
      const receipt = await inbox.admit({
        id: derivedId("msg", context.key),
        session: session.id,
        sender: senderOf(context),
        body: input.context,
        interrupt: input.interrupt,
        cause: causeOf(context, turns),
      });
      return receipt.text;
    },
  });
}

function close({ store, sessions, agents }: SessionToolsOptions): AgentTool {
  return defineTool({
    name: "aegis_close",
    description:
      "Close an idle session that you or your tree started, permanently. Refused, with all reasons, while it has work to do.",
    input: z.object({ handle: z.string(), from_handle: fromHandle }),
    readOnly: false,
    async run(input, context) {
      checkFromHandle(input.from_handle, context);
      const row = await sessions.resolve(input.handle);
      const { id, handle, closed_at } = row;
      if (id === context.caller.id) return { closed: false, handle, reasons: ["you cannot close yourself"] };
      if (closed_at !== null) return { closed: false, handle, reasons: [`'${handle}' is closed already`] };
      const refusal = endRefusal(await enderOf(store, context, agents), endableSession(row, agents));
      if (refusal !== null) return { closed: false, handle, reasons: [refusal] };
      const reasons = await sessions.closeIdle(id, `closed by ${context.caller.handle}`);
      if (reasons.length > 0) return { closed: false, handle, reasons };
      return { closed: true, handle };
    },
  });
}

/** One line is enough to choose an agent. */
function aboutOf(description: string): { description?: string } {
  const [line = ""] = description.trim().split("\n");
  return line === "" ? {} : { description: line.slice(0, longestDescription) };
}
