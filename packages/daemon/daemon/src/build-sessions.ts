/** Builds the inbox, conversations and turns, which depend on each other. */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { onCrashOf } from "@aegis/agents/agent-table.ts";
import { mayUsePlane } from "@aegis/contract/tool-access.ts";
import type { EventHub } from "@aegis/events/hub.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { OverflowFiles } from "@aegis/lib/overflow.ts";
import { StagedWrites } from "@aegis/lib/staged-writes.ts";
import type { Plane } from "@aegis/mcp-plane/plane.ts";
import { LiveText } from "@aegis/nodes/live-text.ts";
import { nodeOf } from "@aegis/nodes/node-of.ts";
import { Commands } from "@aegis/nodes/requests.ts";
import { SessionProcesses } from "@aegis/nodes/session-processes.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import { Conversations, type ConversationsOptions } from "@aegis/sessions/conversations.ts";
import { createSession } from "@aegis/sessions/create.ts";
import type { SessionExtensions } from "@aegis/sessions/extensions.ts";
import { SessionHints } from "@aegis/sessions/hints.ts";
import { Attachments, type SharedFiles } from "@aegis/sessions/inbox/attachments.ts";
import { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import { SkillRouting } from "@aegis/sessions/inbox/routing.ts";
import { Openings } from "@aegis/sessions/openings.ts";
import { priceFinder } from "@aegis/sessions/pricing.ts";
import { Sessions } from "@aegis/sessions/sessions.ts";
import type { ToolTable } from "@aegis/sessions/tools/tools.ts";
import { Turns } from "@aegis/sessions/turns.ts";
import { tellUnanswered } from "@aegis/sessions/unanswerable.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import type { Hooks } from "./build-hooks.ts";
import type { BuildOptions } from "./build-options.ts";
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
    confine: ConversationsOptions["confine"];
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
  /** File writes that are not complete yet. */
  writes: StagedWrites;
};

export function buildSessions(options: BuildSessionsOptions): SessionParts {
  const { root, stateDir, store, transact, clock, log, settings, signal } = options;
  const { judge, agents, drivers, tools, hub, plane, hooks, extensions, askPerson, maxHops } = options;
  const { grants, router, skills } = options.skills;
  const config = () => settings().config;
  const subagentSettings = () => config().subagents;
  const permission: HostOptions["permission"] = async (session, request, abort) =>
    grants.allows(session.id, request) ? { decision: "allow", scope: "once" } : askPerson(session, request, abort);
  const attachments = new Attachments({
    dir: join(stateDir, "attachments"),
    drivers,
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
    confine: options.confine,
    host: (session, scoped, own) =>
      createHost(
        {
          root,
          judge,
          store,
          clock,
          log,
          writes,
          permission,
          askPerson,
          spontaneousTurn: own.spontaneousTurn,
          processes: own.processes,
          confined: own.confined,
          hooks: hooks.conversation,
        },
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
  const hints = new SessionHints();
  const routing = new SkillRouting({
    store,
    clock,
    agents,
    skills,
    router,
    signal,
    createIn: (tx, input) => createSession(tx, input, { agents, drivers, inbox, clock, node, subagentSettings }),
  });
  const inbox: Inbox = new Inbox({
    store,
    clock,
    redact: options.redact,
    routing,
    maxHops,
    perMinute: () => config().messages.max_per_minute,
    hints,
  });
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
  const commands = new Commands({ store, clock, log, signal });
  const processes = new SessionProcesses({
    store,
    commands,
    local: {
      wake: (session) => turns.wake(session),
      interrupt: (session) => turns.interrupt(session),
      steer: (message) => turns.steer(message),
      current: (session) => turns.current(session),
      reopenNext: (session) => conversations.reopenNext(session),
    },
  });
  // Without a cluster, the process of every session is here.
  hints.fill(node === null ? turns : processes);
  const sessions = new Sessions({
    store,
    clock,
    log,
    node,
    agents,
    drivers,
    inbox,
    turns,
    processes,
    conversations,
    routing,
    subagentSettings,
  });
  return {
    inbox,
    attachments,
    conversations,
    turns,
    sessionProcesses: processes,
    commandsOfNodes: commands,
    liveText,
    sessions,
    writes,
  };
}

/** A file is in the database before the message that has it. */
function sharedFiles(store: Store, clock: Clock): SharedFiles {
  return {
    get: (sha256) => store.read.blobs.get(sha256),
    put: (sha256, data) => store.transact((tx) => tx.blobs.put(sha256, data, clock.now())),
  };
}
