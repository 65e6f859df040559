/** A daemon's side of a conversation that records what a driver asks of it. */
import { readFile } from "node:fs/promises";
import type {
  CallVerdict,
  ConversationHost,
  DriverEvent,
  ModelRequest,
  PermissionAnswer,
  PermissionRequest,
  SpawnCommand,
  ToolOutcome,
  ToolSpec,
  ToolUse,
} from "@aegis/drivers/driver.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { writeAtomic } from "@aegis/lib/files.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses, type Processes } from "@aegis/lib/process.ts";
import { agreed } from "./consent.ts";

type Notice = Parameters<ConversationHost["notice"]>[0];

export type ToolCall = { name: string; input: unknown; key: string };

export type DriverHost = ConversationHost & {
  readonly remembered: readonly (string | null)[];
  readonly spawns: readonly SpawnCommand[];
  readonly asked: readonly PermissionRequest[];
  readonly notices: readonly Notice[];
  readonly spontaneous: readonly AsyncIterable<DriverEvent>[];
  readonly calls: readonly ToolCall[];
  /** What the conversation is called, as the daemon would have stored it. */
  readonly resume: string | null;
  /** Resolves when at least `count` of them have come. */
  arrived(what: "remembered" | "spawns" | "asked" | "notices" | "spontaneous" | "calls", count: number): Promise<void>;
};

export type DriverHostOptions = {
  /** Called for each question; a promise that stays open is a person who thinks. Denies when absent. */
  permission?: (request: PermissionRequest, signal: AbortSignal) => PermissionAnswer | Promise<PermissionAnswer>;
  /** Awaited before a name is remembered: hold it to see what a driver does meanwhile. */
  rememberGate?: () => Promise<void>;
  /** Throws what the judge would. */
  consent?: () => Promise<void>;
  prepareSpawn?: (command: SpawnCommand) => SpawnCommand | Promise<SpawnCommand>;
  /** What plugins say of a tool call. No gate is there when absent. */
  beforeTool?: (use: ToolUse) => CallVerdict | Promise<CallVerdict>;
  /** What Aegis's own gate guards; its verdicts come from `beforeTool` too. */
  guarded?: readonly string[];
  afterTool?: (use: ToolUse, outcome: ToolOutcome) => string | null;
  beforeModel?: (request: ModelRequest) => ModelRequest;
  processes?: Processes;
  tools?: ToolSpec[];
  /** Tools that exist but are kept from the agent. */
  refusals?: Record<string, ToolOutcome>;
  callTool?: (call: ToolCall, signal: AbortSignal) => ToolOutcome | Promise<ToolOutcome>;
};

export function driverHost(options: DriverHostOptions = {}): DriverHost {
  const log = {
    remembered: [] as (string | null)[],
    spawns: [] as SpawnCommand[],
    asked: [] as PermissionRequest[],
    notices: [] as Notice[],
    spontaneous: [] as AsyncIterable<DriverEvent>[],
    calls: [] as ToolCall[],
  };
  let waiting: { isDone: () => boolean; resolve: () => void }[] = [];
  const announce = () => {
    for (const waiter of waiting) if (waiter.isDone()) waiter.resolve();
    waiting = waiting.filter((waiter) => !waiter.isDone());
  };

  return {
    ...log,
    get resume() {
      return log.remembered.at(-1) ?? null;
    },
    arrived: (what, count) =>
      new Promise((resolve) => {
        waiting.push({ isDone: () => log[what].length >= count, resolve });
        announce();
      }),
    async remember(resume) {
      await options.rememberGate?.();
      log.remembered.push(resume);
      announce();
    },
    async prepareSpawn(command) {
      const prepared = (await options.prepareSpawn?.(command)) ?? command;
      log.spawns.push(prepared);
      announce();
      return prepared;
    },
    async consent() {
      await options.consent?.();
      return agreed();
    },
    async agreedFile(path) {
      await options.consent?.();
      return readFile(path);
    },
    async permission(request, signal) {
      log.asked.push(request);
      announce();
      return (
        (await options.permission?.(request, signal)) ?? { decision: "deny", reason: "nobody answers in this test" }
      );
    },
    gated: options.beforeTool !== undefined && options.guarded === undefined,
    guarded: options.guarded ?? [],
    beforeTool: async (use) => (await options.beforeTool?.(use)) ?? { decision: "allow" },
    afterTool: async (use, outcome) => options.afterTool?.(use, outcome) ?? null,
    endTool: async () => {},
    noteRead: () => {},
    writeFile: writeAtomic,
    beforeModel: async (request) => options.beforeModel?.(request) ?? request,
    notice(notice) {
      log.notices.push(notice);
      announce();
    },
    spontaneousTurn(events) {
      log.spontaneous.push(events);
      announce();
    },
    processes: options.processes ?? unlistedProcesses(),
    confined: false,
    tools: {
      list: async () => options.tools ?? [],
      refusal: (name) => options.refusals?.[name] ?? null,
      async call(name, input, { key, signal }) {
        const call = { name, input, key };
        log.calls.push(call);
        announce();
        return (await options.callTool?.(call, signal)) ?? { output: `no tool "${name}" in this test`, is_error: true };
      },
    },
  };
}

function unlistedProcesses(): Processes {
  return createProcesses({ ledgerFile: null, owner: "driver-host", clock: systemClock, log: silentLogger });
}
