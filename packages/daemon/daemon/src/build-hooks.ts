/** Builds the hook bus and connects it to every point at which plugins can observe or change something. */
import { join } from "node:path";
import { factsOf } from "@aegis/drivers/all.ts";
import { AgentCommands } from "@aegis/hooks/agent-commands.ts";
import { type BeforeTurnOptions, beforeAgentStart, preTurn } from "@aegis/hooks/before-turn.ts";
import { HookBus } from "@aegis/hooks/bus.ts";
import {
  type ConversationHooks,
  type ConversationHooksOptions,
  conversationHooks,
  isNamedPlaneTool,
} from "@aegis/hooks/conversation.ts";
import { afterSessionStart, HookFeed } from "@aegis/hooks/follow.ts";
import { HookTable } from "@aegis/hooks/hook-table.ts";
import { HookLifecycle } from "@aegis/hooks/lifecycle.ts";
import { MessageReceivedHooks } from "@aegis/hooks/message-received.ts";
import { outgoingText } from "@aegis/hooks/outgoing.ts";
import { HookLog, type HookRecord } from "@aegis/hooks/record.ts";
import { type ToolGuardOptions, toolGuard } from "@aegis/hooks/tool-guard.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import type { Conversations } from "@aegis/sessions/conversations.ts";
import type { SessionExtensions } from "@aegis/sessions/extensions.ts";
import type { OutgoingText } from "@aegis/sessions/recorder.ts";
import type { ToolGuard } from "@aegis/sessions/tools/tools.ts";
import type { Toolset } from "@aegis/sessions/tools/toolset.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import type { SessionRow } from "@aegis/store/store.ts";
import type { Transact } from "@aegis/store/transact.ts";
import { buildFileGuard } from "./build-file-guard.ts";
import type { BuildOptions } from "./build-options.ts";
import type { SkillParts } from "./build-skills.ts";

export type BuildHooksOptions = Pick<
  BuildOptions,
  "root" | "stateDir" | "store" | "drivers" | "clock" | "log" | "env" | "settings" | "version" | "signal"
> & {
  transact: Transact;
  redact: Redact;
  permission: ToolGuardOptions["permission"];
  claims: ConversationHooksOptions["claims"];
  /** The sessions that are in a turn. */
  working: Turns["working"];
  /** Called for each failed hook call. Must not throw. */
  failed: (call: HookRecord) => void;
};

export type ConnectTurnHooksOptions = Pick<BuildOptions, "root" | "store"> & {
  extensions: SessionExtensions;
  hooks: Hooks;
  conversations: Conversations;
  skills: Pick<SkillParts, "ranked">;
};

export type Hooks = {
  table: HookTable;
  bus: HookBus;
  feed: HookFeed;
  received: MessageReceivedHooks;
  guard: ToolGuard;
  /** Judges commands that Aegis runs for an agent. */
  commands: AgentCommands;
  outgoing: OutgoingText;
  conversation(session: SessionRow, tools: Toolset): ConversationHooks;
  /** Call once the daemon is up and its plugins are loaded. */
  started(): void;
  close(reason: string, forced: AbortSignal): Promise<void>;
};

export function buildHooks(options: BuildHooksOptions): Hooks {
  const { root: projectRoot, stateDir, store, transact, drivers, clock, log, settings, version, signal } = options;
  const { redact, permission, claims, working, failed } = options;
  const table = new HookTable();
  const records = new HookLog({ dir: join(stateDir, "hooks"), redact, log });
  const timeoutMs = () => settings().config.hooks.timeout * 1_000;
  const record = (call: HookRecord) => {
    records.add(call);
    if (call.status !== "ok") failed(call);
  };
  const bus = new HookBus({ table, clock, log, timeoutMs, record });
  const feed = new HookFeed({ bus, store, log, projectRoot });
  const lifecycle = new HookLifecycle({ bus, feed, table, working, projectRoot, version });
  const { guard, guarded } = buildFileGuard(projectRoot, options.env);
  const ownFolders = ({ id }: SessionRow) => {
    const folder = join(stateDir, "conversations", id);
    // Harnesses write their temporary files into the first, and keep what they show in part below the second.
    return { writes: [join(folder, "tmp")], reads: [folder] };
  };
  return {
    table,
    bus,
    feed,
    received: new MessageReceivedHooks({ bus, store, transact, clock, log, signal }),
    guard: toolGuard({ bus, permission, store, projectRoot, fileGuard: guard }),
    commands: new AgentCommands({ store, bus, projectRoot, guard, permission }),
    outgoing: outgoingText({ bus, store, signal }),
    conversation(session, tools) {
      const overMcp = drivers.find(tools.agent.harness)?.capabilities.mcp ?? false;
      const isPlaneTool = overMcp ? isNamedPlaneTool : (name: string) => tools.has(name);
      return conversationHooks(
        { bus, store, log, projectRoot, guard, guarded, ownFolders, claims, signal },
        session,
        isPlaneTool,
      );
    },
    started: () => lifecycle.started(),
    async close(reason, forced) {
      await lifecycle.close(reason, forced);
      await records.flush();
    },
  };
}

/** Calls the hooks between a batch of messages and its agent. */
export function connectTurnHooks({
  root,
  store,
  extensions,
  hooks,
  conversations,
  skills,
}: ConnectTurnHooksOptions): void {
  const { bus, feed, table } = hooks;
  const beforeTurn: BeforeTurnOptions = {
    bus,
    store,
    projectRoot: root,
    callsModel: (session) => factsOf(session.harness)?.callsModel === true,
    systemPrompt: (session) => conversations.systemPrompt(session),
    skills: async (session, text, abort) => (table.offersSkills ? skills.ranked(session, text, abort) : []),
  };
  extensions.contributors.push(afterSessionStart(feed), preTurn(beforeTurn), beforeAgentStart(beforeTurn));
}
