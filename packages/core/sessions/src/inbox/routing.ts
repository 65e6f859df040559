/** Routes a person's message to another agent if it requires a skill that belongs to that agent. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { Message, Receipt } from "@aegis/contract/message.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Route, SkillRouter } from "@aegis/skills/route.ts";
import type { Skills } from "@aegis/skills/skills.ts";
import type { SessionRow, Store, StoreTx } from "@aegis/store/store.ts";
import { derivedId } from "./derived-id.ts";

export type SkillRoutingOptions = {
  store: Store;
  clock: Clock;
  agents: AgentTable;
  skills: Pick<Skills, "any">;
  router: SkillRouter;
  /** Aborts when the daemon is forced to stop. */
  signal: AbortSignal;
  /** Creates a session inside the transaction. */
  createIn: (
    tx: StoreTx,
    input: Pick<SessionRow, "id" | "agent" | "ask_policy" | "title">,
  ) => Promise<{ row: SessionRow }>;
};

type Routable = Pick<Message, "session" | "sender" | "body"> & { id?: MessageId | undefined };

/** The session that gets the message, or the route from the addressed session to another one. */
export type RoutedMessage = { session: SessionId } | { from: SessionRow; route: Route };

export class SkillRouting {
  readonly #options: SkillRoutingOptions;

  constructor(options: SkillRoutingOptions) {
    this.#options = options;
  }

  /** Finds the route of a message. An id that was admitted before keeps its session. */
  async of({ id, session, sender, body }: Routable): Promise<RoutedMessage> {
    const { store, agents } = this.#options;
    if (sender.kind !== "human") return { session };
    const before = id === undefined ? null : await store.read.messages.get(id);
    if (before !== null) {
      const wasRouted = before.session !== session && (await this.#wasRouted(session, before.id));
      return { session: wasRouted ? before.session : session };
    }
    const from = await store.read.sessions.get(session);
    if (from === null || from.closed_at !== null) return { session };
    const route = await this.#route(body, agents.loadAgent(from.agent));
    return route === null ? { session } : { from, route };
  }

  /** The route of a session that starts with a message and without an explicit agent. */
  ofNewSession(prompt: string): Promise<Route | null> {
    return this.#route(prompt, this.#options.agents.get(undefined));
  }

  /**
   * The target session of a routed message: the one that received earlier messages of `from` and remembers them, or a
   * new one if that is closed.
   */
  async target(tx: StoreTx, from: SessionRow, { agent, skill }: Route): Promise<SessionId> {
    for (let round = 0; ; round++) {
      const id = derivedId("ses", `skill-route/${from.id}/${agent.ref}/${round}`);
      const known = await tx.sessions.get(id);
      if (known !== null && known.closed_at === null) return id;
      if (known !== null) continue;
      const input = { id, agent: agent.ref, ask_policy: from.ask_policy, title: skill.name };
      return (await this.#options.createIn(tx, input)).row.id;
    }
  }

  async record(
    tx: StoreTx,
    from: SessionRow,
    { skill, agent }: Route,
    message: MessageId,
    to: SessionRow,
  ): Promise<void> {
    const data = { message, skill: skill.name, agent: agent.slug, to: to.id, handle: to.handle };
    await tx.events.append({ type: "skill.routed", session: from.id, data }, this.#options.clock.now());
  }

  /** Without skills, only a message that names one needs the router, which refuses it. */
  async #route(text: string, current: Agent | null): Promise<Route | null> {
    const { skills, router, signal } = this.#options;
    const namesSkill = text.trimStart().startsWith("/skill");
    return namesSkill || (await skills.any(signal)) ? router.route(text, current, signal) : null;
  }

  async #wasRouted(session: SessionId, message: string): Promise<boolean> {
    const { events } = this.#options.store.read;
    const routed = await events.list({ session, types: ["skill.routed"], limit: 1_000, from: "newest" });
    return routed.some((event) => event.type === "skill.routed" && event.data.message === message);
  }
}

export function withReason(receipt: Receipt, { skill, agent }: Route): Receipt {
  return { ...receipt, text: `${receipt.text}: the skill "${skill.name}" is for the agent "${agent.slug}"` };
}
