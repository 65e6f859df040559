/** The doors by which a person's messages come in, behind which they go to the agent that their skill is for. */
import type { MessageId, SessionId } from "../../contract/ids.ts";
import type { Receipt } from "../../contract/message.ts";
import type { Clock } from "../../lib/clock.ts";
import { derivedId } from "../../runtime/inbox/derived-id.ts";
import { type Admission, type Admitted, type Inbox, receiptOf } from "../../runtime/inbox/inbox.ts";
import type { AgentRegistry } from "../../runtime/registry/agents.ts";
import type { Sessions } from "../../runtime/sessions/sessions.ts";
import type { Route, SkillRouter } from "../../runtime/skills/route.ts";
import type { DoorService } from "../../server/services.ts";
import type { SessionRow, Store, StoreTx } from "../../store/store.ts";

export type RoutingOptions = {
  store: Store;
  clock: Clock;
  inbox: Inbox;
  sessions: Sessions;
  agents: AgentRegistry;
  router: SkillRouter;
  /** Aborts when the daemon may no longer wait for anything. */
  signal: AbortSignal;
};

/** What was sent before under the same id stays where it went. */
export function createDoor(options: RoutingOptions): DoorService {
  const { inbox, sessions, store, agents, router, signal } = options;
  return {
    async admit(input) {
      const before = input.id === undefined ? null : await store.read.messages.get(input.id);
      if (before !== null) {
        const wasPassedOn = await passedOn(store, input.session, before.id);
        return inbox.admit(wasPassedOn ? { ...input, session: before.session } : input);
      }
      const row = await store.read.sessions.get(input.session);
      if (row === null || row.closed_at !== null || input.sender.kind !== "human") return inbox.admit(input);
      const route = await router.route(input.body, agents.loadAgent(row.agent), signal);
      return route === null ? inbox.admit(input) : passOn(options, input, row, route);
    },
    /** A session that is to begin with a message, and with no agent in particular. */
    async create(input) {
      const { prompt, agent } = input;
      const isOpen = prompt !== undefined && agent === undefined;
      const route = isOpen ? await router.route(prompt, agents.get(undefined), signal) : null;
      if (route === null) return sessions.create(input);
      const made = await sessions.create({ ...input, agent: route.agent.ref });
      return { ...made, receipt: made.receipt === null ? null : withReason(made.receipt, route) };
    },
  };
}

/** Session, message and word of it in one transaction. */
async function passOn(options: RoutingOptions, input: Admission, from: SessionRow, route: Route): Promise<Receipt> {
  const { store, clock, sessions, inbox } = options;
  const admitted = await store.transact(async (tx) => {
    const to = await targetSession(tx, sessions, from, route);
    const admitted = await inbox.admitIn(tx, { ...input, session: to });
    await tx.events.append(
      {
        type: "skill.routed",
        session: from.id,
        data: {
          message: admitted.message.id,
          skill: route.skill.name,
          agent: route.agent.slug,
          to,
          handle: admitted.session.handle,
        },
      },
      clock.now(),
    );
    return admitted;
  });
  return settled(options, input, admitted, route);
}

async function settled(
  { sessions }: RoutingOptions,
  input: Admission,
  admitted: Admitted,
  route: Route,
): Promise<Receipt> {
  const { id } = admitted.session;
  const cut = input.interrupt === true && (await sessions.interrupt(id).catch(() => false));
  sessions.wake(id);
  return withReason(receiptOf(admitted, cut), route);
}

/** The session that had messages of this one before, so that it remembers them; a new one when that is closed. */
async function targetSession(
  tx: StoreTx,
  sessions: Sessions,
  from: SessionRow,
  { agent, skill }: Route,
): Promise<SessionId> {
  for (let round = 0; ; round++) {
    const id = derivedId("ses", `skill-route/${from.id}/${agent.ref}/${round}`);
    const known = await tx.sessions.get(id);
    if (known !== null && known.closed_at === null) return id;
    if (known !== null) continue;
    const { row } = await sessions.createIn(tx, {
      id,
      agent: agent.ref,
      ask_policy: from.ask_policy,
      title: skill.name,
    });
    return row.id;
  }
}

async function passedOn(store: Store, session: SessionId, message: MessageId): Promise<boolean> {
  const events = await store.read.events.list({ session, types: ["skill.routed"], limit: 1_000, from: "newest" });
  return events.some((event) => event.type === "skill.routed" && event.data.message === message);
}

function withReason(receipt: Receipt, { skill, agent }: Route): Receipt {
  return { ...receipt, text: `${receipt.text}: the skill "${skill.name}" is for the agent "${agent.slug}"` };
}
