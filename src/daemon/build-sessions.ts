/** Builds the inbox, conversations and turns, which depend on each other. */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { mayUsePlane } from "../contract/tool-access.ts";
import type { Clock } from "../lib/clock.ts";
import type { OverflowFiles } from "../lib/overflow.ts";
import { StagedWrites } from "../lib/staged-writes.ts";
import type { Plane } from "../plane/plane.ts";
import type { ConsentCheck } from "../project/trust/judge.ts";
import type { EventHub } from "../runtime/events/hub.ts";
import { Attachments, type SharedFiles } from "../runtime/inbox/attachments.ts";
import { Inbox } from "../runtime/inbox/inbox.ts";
import { SkillRouting } from "../runtime/inbox/routing.ts";
import { Commands } from "../runtime/remote/commands.ts";
import { LiveText } from "../runtime/remote/live-text.ts";
import { nodeOf } from "../runtime/remote/node-of.ts";
import { SessionProcesses } from "../runtime/remote/session-processes.ts";
import { Conversations } from "../runtime/sessions/conversations.ts";
import { createSession } from "../runtime/sessions/create.ts";
import type { SessionExtensions } from "../runtime/sessions/extensions.ts";
import { onCrashOf } from "../runtime/sessions/on-crash.ts";
import { Openings } from "../runtime/sessions/openings.ts";
import { priceFinder } from "../runtime/sessions/pricing.ts";
import { type Recovered, recover } from "../runtime/sessions/recover.ts";
import { Sessions } from "../runtime/sessions/sessions.ts";
import { Turns } from "../runtime/sessions/turns.ts";
import { tellUnanswered } from "../runtime/sessions/unanswerable.ts";
import type { AgentTable } from "../runtime/tables/agents.ts";
import type { ToolTable } from "../runtime/tables/tools.ts";
import type { Store } from "../store/store.ts";
import type { Transact } from "../store/transact.ts";
import type { BuildOptions } from "./build.ts";
import type { Hooks } from "./build-hooks.ts";
import type { SkillCore } from "./build-skills.ts";
import { createHost, type HostOptions } from "./host.ts";

export type BuildSessionsOptions = { judge: ConsentCheck } & Pick<
  BuildOptions,
  "root" | "stateDir" | "drivers" | "clock" | "log" | "settings" | "signal" | "redact" | "redactedStream" | "env"
> & {
    store: Store;
    transact: Transact;
    agents: AgentTable;
    tools: ToolTable;
    hub: EventHub;
    overflow: OverflowFiles;
    plane: Plane;
    hooks: Hooks;
    skills: Pick<SkillCore, "grants" | "router" | "skills">;
    extensions: SessionExtensions;
    askPerson: HostOptions["askPerson"];
    maxHops: () => number;
  };

export type SessionParts = {
  inbox: Inbox;
  attachments: Attachments;
  conversations: Conversations;
  turns: Turns;
  sessionProcesses: SessionProcesses;
  commandsOfNodes: Commands;
  /** Null without a cluster. */
  liveText: LiveText | null;
  sessions: Sessions;
  /** Ends the turns and removes the file writes that a dead daemon left unfinished. */
  recoverTurns(): Promise<Recovered>;
};

export function buildSessions(options: BuildSessionsOptions): SessionParts {
  const { root, stateDir, store, transact, clock, log, settings, signal } = options;
  const { judge, agents, drivers, tools, hub, plane, hooks, extensions, askPerson, maxHops } = options;
  const { grants, router, skills } = options.skills;
  const config = () => settings().config;
  const permission: HostOptions["permission"] = async (session, request, abort) =>
    grants.allows(session.id, request) ? { decision: "allow", scope: "once" } : askPerson(session, request, abort);
  const attachments = new Attachments({
    ...{ dir: join(stateDir, "attachments"), drivers },
    shared: store.membership === undefined ? undefined : sharedFiles(store, clock),
  });
  const writes = new StagedWrites(join(stateDir, "writes"));
  const conversations = new Conversations({
    store,
    clock,
    agents,
    drivers,
    tools,
    extensions,
    cwd: root,
    env: options.env,
    stateDir: join(stateDir, "conversations"),
    log,
    // A starting harness waits for disk and network about as long as it computes.
    openings: new Openings({ clock, most: 2 * availableParallelism() }),
    judge,
    host: (session, scoped, spontaneousTurn) =>
      createHost(
        { root, judge, store, clock, log, writes, spontaneousTurn, permission, askPerson, hooks: hooks.conversation },
        session,
        scoped,
      ),
    plane: (session, scoped) =>
      mayUsePlane(scoped.agent) ? plane.open(session, scoped) : { address: null, revoke: () => {} },
    toolsChanged: () => plane.toolsChanged(),
  });
  const node = nodeOf(store);
  const { membership } = store;
  const liveText = membership === undefined ? null : new LiveText({ store, membership, hub, clock, log, signal });
  const turns = new Turns({
    transact,
    node,
    nodeOf: async (session) => (await store.read.sessions.get(session))?.node ?? null,
    clock,
    log,
    conversations,
    extensions,
    received: hooks.received,
    publishDelta: (delta) => {
      hub.publishDelta(delta);
      liveText?.publish(delta);
    },
    redact: options.redact,
    redactedStream: options.redactedStream,
    attachmentPath: (attachment) => attachments.pathOf(attachment),
    fetchAttachments: (files) => attachments.fetch(files),
    outgoing: hooks.outgoing,
    hookEvents: hooks.table.events,
    overflow: options.overflow,
    price: priceFinder({ store, agents, prices: () => config().prices }),
    tellUnanswered: (tx, session, messages, fate) => tellUnanswered(tx, inbox, session, messages, fate),
    onCrash: async (id) => {
      const session = await store.read.sessions.get(id);
      return session === null ? "retry" : onCrashOf(agents, session);
    },
  });
  const routing = new SkillRouting({
    ...{ store, clock, agents, skills, router, signal },
    createIn: (tx, input) => createSession(tx, input, creation),
  });
  const commands = new Commands({ store, clock, log, signal });
  const processes = new SessionProcesses({
    ...{ store, commands },
    local: {
      wake: (session) => turns.wake(session),
      interrupt: (session) => turns.interrupt(session),
      steer: (message) => turns.steer(message),
      current: (session) => turns.current(session),
      reopenNext: (session) => conversations.reopenNext(session),
    },
  });
  const inbox: Inbox = new Inbox({
    ...{ store, clock, routing, maxHops },
    perMinute: () => config().messages.max_per_minute,
    // Without a cluster, the process of every session is here.
    turns: node === null ? turns : processes,
  });
  const creation = { agents, drivers, inbox, clock, node, subagentSettings: () => config().subagents };
  const sessions = new Sessions({ ...creation, store, turns, processes, conversations, routing });
  return {
    inbox,
    attachments,
    conversations,
    turns,
    sessionProcesses: processes,
    commandsOfNodes: commands,
    liveText,
    sessions,
    async recoverTurns() {
      await writes.recover();
      return recover({ store, clock });
    },
  };
}

/** A file is in the database before the message that has it. */
function sharedFiles(store: Store, clock: Clock): SharedFiles {
  return {
    get: (sha256) => store.read.blobs.get(sha256),
    put: (sha256, data) => store.transact((tx) => tx.blobs.put(sha256, data, clock.now())),
  };
}
