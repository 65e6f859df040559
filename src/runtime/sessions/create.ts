/** Creates a session inside a transaction, with its first message. */
import { AegisError } from "../../contract/errors.ts";
import { newId, type SessionId } from "../../contract/ids.ts";
import type { Clock } from "../../lib/clock.ts";
import type { SessionRow, StoreTx } from "../../store/store.ts";
import type { Admitted, Inbox } from "../inbox/inbox.ts";
import type { AgentRegistry } from "../registry/agents.ts";
import type { DriverRegistry } from "../registry/drivers.ts";
import { limitsOf } from "../registry/limits.ts";
import { handleCandidates, seededBy } from "./handles.ts";
import { type NewSession, newRow } from "./new-session.ts";
import { publicSession } from "./rows.ts";

export type CreateOptions = { agents: AgentRegistry; drivers: DriverRegistry; inbox: Inbox; clock: Clock };

export type Created = { row: SessionRow; admitted: Admitted | null };

/** Nothing is admitted for an id that is there already. */
export async function createSession(
  tx: StoreTx,
  input: NewSession,
  { agents, drivers, inbox, clock }: CreateOptions,
): Promise<Created> {
  const agent = agents.startable(input.agent);
  if (!drivers.find(agent.harness)) {
    throw new AegisError(
      "invalid",
      `agent "${agent.slug}" wants harness "${agent.harness}", which Aegis cannot drive`,
      { hint: `harnesses here: ${drivers.names.join(", ")}` },
    );
  }
  const before = input.id === undefined ? null : await tx.sessions.get(input.id);
  if (before) return { row: before, admitted: null };
  const starter = input.startedFor ? await tx.sessions.get(input.startedFor) : null;
  const now = clock.now();
  const id = input.id ?? newId("ses", now);
  const handle = input.handle ?? (await freeHandle(tx, id));
  const inherited = starter && {
    depth: starter.depth,
    limits: limitsOf(starter, agents.loadAgent(starter.agent), agent),
  };
  const row = newRow(input, { id, agent, handle, inherited, now });
  await tx.sessions.insert(row);
  await tx.events.append({ type: "session.created", session: row.id, data: { session: publicSession(row) } }, now);
  if (input.prompt === undefined) return { row, admitted: null };
  const admitted = await inbox.admitIn(tx, {
    session: row.id,
    sender: input.sender ?? { kind: "human" },
    body: input.prompt,
    cause: input.cause,
  });
  return { row, admitted };
}

/** The same for the same id: a transaction that runs again makes the same session. */
async function freeHandle(tx: StoreTx, id: SessionId): Promise<string> {
  for (const handle of handleCandidates(seededBy(id))) {
    if (!(await tx.sessions.byHandle(handle))) return handle;
  }
  throw new Error("unreachable: candidates never end");
}
