/** Makes the bus of hooks and puts it in every place where plugins may watch or change what happens. */
import { join } from "node:path";
import type { SessionId } from "../contract/ids.ts";
import type { Redact } from "../lib/redact.ts";
import { type BeforeTurnOptions, beforeAgentStart, preTurn } from "../runtime/hooks/before-turn.ts";
import { HookBus } from "../runtime/hooks/bus.ts";
import { type ConversationHooks, conversationHooks, isNamedPlaneTool } from "../runtime/hooks/conversation.ts";
import { HookFeed } from "../runtime/hooks/follow.ts";
import { HookLifecycle } from "../runtime/hooks/lifecycle.ts";
import { outgoingText } from "../runtime/hooks/outgoing.ts";
import { Reception } from "../runtime/hooks/receive.ts";
import { HookLog } from "../runtime/hooks/record.ts";
import { type ToolGuardOptions, toolGuard } from "../runtime/hooks/tool-guard.ts";
import type { InboxOptions } from "../runtime/inbox/inbox.ts";
import { HookRegistry } from "../runtime/registry/hooks.ts";
import type { ToolGuard } from "../runtime/registry/tools.ts";
import type { Toolset } from "../runtime/registry/toolset.ts";
import type { TurnContributor } from "../runtime/sessions/prepare.ts";
import type { OutgoingText } from "../runtime/sessions/recorder.ts";
import type { SessionRow, Store } from "../store/store.ts";
import type { BuildOptions } from "./build.ts";

export type BuildHooksOptions = Pick<
  BuildOptions,
  "root" | "stateDir" | "store" | "drivers" | "clock" | "log" | "settings" | "version" | "signal"
> & {
  redact: Redact;
  permission: ToolGuardOptions["permission"];
  systemPrompt: (session: SessionId) => Promise<string>;
  /** The skills of the session's agent, the best for the text first. */
  skillsFor: BeforeTurnOptions["skills"];
};

export type Hooks = {
  registry: HookRegistry;
  /** For everybody who admits messages: hooks see them before they are written. */
  store: Store;
  received: InboxOptions["received"];
  guard: ToolGuard;
  outgoing: OutgoingText;
  contributors: readonly TurnContributor[];
  conversation(session: SessionRow, tools: Toolset): ConversationHooks;
  opened(session: SessionRow, resumed: boolean): void;
  /** The daemon is up and its plugins are loaded. */
  started(): void;
  close(reason: string, forced: AbortSignal): Promise<void>;
};

/** The only harness whose driver calls the model itself. */
const nativeHarness = "native";

export function buildHooks(options: BuildHooksOptions): Hooks {
  const { root: projectRoot, stateDir, drivers, clock, log, settings, version, signal, redact, permission } = options;
  const registry = new HookRegistry();
  const records = new HookLog({ dir: join(stateDir, "hooks"), redact, log });
  const timeoutMs = () => settings().config.hooks.timeout * 1_000;
  const bus = new HookBus({ registry, clock, log, timeoutMs, record: (call) => records.add(call) });
  const reception = new Reception({ bus, log, signal });
  const store = reception.store(options.store);
  const feed = new HookFeed({ bus, store, log, projectRoot });
  const lifecycle = new HookLifecycle({ bus, feed, registry, projectRoot, version });
  const callsModel = (session: SessionRow) => session.harness === nativeHarness;
  const beforeTurn: BeforeTurnOptions = {
    ...{ bus, store, projectRoot, systemPrompt: options.systemPrompt, callsModel },
    skills: async (session, text, abort) => (registry.offersSkills ? options.skillsFor(session, text, abort) : []),
  };
  return {
    registry,
    store,
    received: (tx, session, sender, body) => reception.received(tx, session, sender, body),
    guard: toolGuard({ bus, permission }),
    outgoing: outgoingText({ bus, store, signal }),
    contributors: [preTurn(beforeTurn), beforeAgentStart(beforeTurn)],
    conversation(session, tools) {
      const overMcp = drivers.find(tools.agent.harness)?.capabilities.mcp ?? false;
      const isPlaneTool = overMcp ? isNamedPlaneTool : (name: string) => tools.has(name);
      return conversationHooks({ bus, store, log, projectRoot, signal }, session, isPlaneTool);
    },
    opened: (session, resumed) => feed.opened(session, resumed),
    started: () => lifecycle.started(),
    async close(reason, forced) {
      await lifecycle.close(reason, forced);
      await records.flush();
    },
  };
}
