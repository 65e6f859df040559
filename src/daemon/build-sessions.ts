/** Makes what sessions talk through: inbox, conversations and turns, which point at each other. */
import { join } from "node:path";
import { mayUsePlane } from "../contract/scope.ts";
import type { Plane } from "../plane/plane.ts";
import type { EventHub } from "../runtime/events/hub.ts";
import { Attachments } from "../runtime/inbox/attachments.ts";
import { Inbox } from "../runtime/inbox/inbox.ts";
import type { AgentRegistry } from "../runtime/registry/agents.ts";
import type { ToolRegistry } from "../runtime/registry/tools.ts";
import { tellBlocked } from "../runtime/sessions/blocked.ts";
import { Conversations, type ConversationsOptions } from "../runtime/sessions/conversations.ts";
import { priceFinder } from "../runtime/sessions/pricing.ts";
import { type Recovered, recover } from "../runtime/sessions/recover.ts";
import { Sessions } from "../runtime/sessions/sessions.ts";
import { Turns } from "../runtime/sessions/turns.ts";
import type { Persist } from "../store/persist.ts";
import type { SessionRow, Store } from "../store/store.ts";
import type { BuildOptions } from "./build.ts";
import type { Hooks } from "./build-hooks.ts";
import type { SkillParts } from "./build-skills.ts";
import { createHost, type HostOptions } from "./host.ts";

export type BuildSessionsOptions = Pick<
  BuildOptions,
  "root" | "stateDir" | "drivers" | "clock" | "log" | "settings" | "signal"
> & {
  store: Store;
  persist: Persist;
  agents: AgentRegistry;
  tools: ToolRegistry;
  hub: EventHub;
  plane: Plane;
  hooks: Hooks;
  skills: SkillParts;
  askPerson: HostOptions["askPerson"];
  maxHops: () => number;
  briefing: ConversationsOptions["briefing"];
};

export type SessionParts = {
  inbox: Inbox;
  attachments: Attachments;
  conversations: Conversations;
  turns: Turns;
  sessions: Sessions;
  /** Whether what the session was told is still before its agent in the next turn. */
  remembers(session: SessionRow): boolean;
  /** Ends the turns that a dead daemon left under way. */
  recoverTurns(): Promise<Recovered>;
};

export function buildSessions(options: BuildSessionsOptions): SessionParts {
  const { root, stateDir, store, persist, clock, log, settings, signal } = options;
  const { agents, drivers, tools, hub, plane, hooks, skills, askPerson, maxHops, briefing } = options;
  const permission: HostOptions["permission"] = async (session, request, abort) =>
    skills.grants.allows(session.id, request)
      ? { decision: "allow", scope: "once" }
      : askPerson(session, request, abort);
  const canResume = (session: SessionRow) => drivers.find(session.harness)?.capabilities.resume ?? false;
  // These closures are called only once all of the parts exist.
  const inbox: Inbox = new Inbox({
    store,
    clock,
    maxHops,
    perMinute: () => settings().config.messages.max_per_minute,
    wake: (session) => sessions.wake(session),
    interrupt: (session) => turns.interrupt(session),
    received: hooks.received,
    steer: (message) => skills.steer(message, signal),
  });
  const attachments = new Attachments({ dir: join(stateDir, "attachments"), drivers });
  const conversations: Conversations = new Conversations({
    store,
    agents,
    drivers,
    tools,
    cwd: root,
    stateDir: join(stateDir, "conversations"),
    log,
    host: (session, scoped) =>
      createHost({ store, clock, log, turns, permission, askPerson, hooks: hooks.conversation }, session, scoped),
    plane: (session, scoped) =>
      mayUsePlane(scoped.agent) ? plane.open(session, scoped) : { address: null, revoke: () => {} },
    toolsChanged: () => plane.toolsChanged(),
    opened: hooks.opened,
    briefing,
    skills: (session, { agent, names }, opening) =>
      skills.offer.section({ session, agent, tools: mayUsePlane(agent) ? names : [], opening }, signal),
  });
  const turns: Turns = new Turns({
    persist,
    clock,
    log,
    conversations,
    publishDelta: (delta) => hub.publishDelta(delta),
    attachmentPath: (attachment) => attachments.pathOf(attachment),
    contributors: [(turn, abort) => skills.offer.contribute(turn, abort), ...hooks.contributors],
    outgoing: hooks.outgoing,
    price: priceFinder({ store, agents, prices: () => settings().config.prices }),
    tellBlocked: (tx, session, messages, reason) => tellBlocked(tx, inbox, session, messages, reason),
    wake: (session) => sessions.wake(session),
  });
  const sessions = new Sessions({ store, clock, log, agents, drivers, inbox, turns, conversations });
  return {
    inbox,
    attachments,
    conversations,
    turns,
    sessions,
    remembers: (session) => canResume(session) || conversations.has(session.id),
    recoverTurns: () => recover({ store, clock, inbox, canResume }),
  };
}
