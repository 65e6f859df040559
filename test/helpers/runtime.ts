/** The runtime as the daemon builds it, on a real store, with a driver whose every turn the test decides. */
import { join } from "node:path";
import type { EventOf, EventType } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { buildRuntime, type Runtime } from "@aegis/daemon/build.ts";
import type {
  Addition,
  Capabilities,
  ConversationSpec,
  Driver,
  DriverEvent,
  Prompt,
  ResumeOutcome,
} from "@aegis/drivers/driver.ts";
import { DriverTable } from "@aegis/drivers/driver-table.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { buildRedactor, RedactedStream } from "@aegis/lib/redact.ts";
import { loadConfig } from "@aegis/project/config/load.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import type { TrustedSettings } from "@aegis/project/trust/trusted-settings.ts";
import type { Store } from "@aegis/store/store.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { onTestFinished } from "vitest";
import { testPlaces } from "./places.ts";
import { checkReferences } from "./references.ts";
import { waitUntil } from "./wait-until.ts";

export type TestTurn = { prompt: Prompt; session: SessionId; signal: AbortSignal; spec: ConversationSpec };
export type TestReply = (turn: TestTurn) => AsyncIterable<DriverEvent>;

const capabilities: Capabilities = {
  resume: "anywhere",
  fork: false,
  steer: false,
  mcp: false,
  permissions: true,
  images: false,
};

export type TestDriver = Driver & {
  turns: TestTurn[];
  opened: number;
  closed: number;
  alive: boolean;
  /** What it says of the next conversations. Its record never has a prompt unless a test says so. */
  restored: ResumeOutcome;
};

/** A driver that asks the test what to say. */
export function testDriver(
  reply: TestReply,
  able: Partial<Capabilities> = {},
  steer?: (message: Addition) => Promise<boolean>,
): TestDriver {
  const driver: TestDriver = {
    harness: "scripted",
    costs: () => "untold",
    capabilities: { ...capabilities, ...able },
    turns: [],
    opened: 0,
    closed: 0,
    alive: true,
    restored: { conversation: true, holds: async () => "no" },
    probe: async () => ({ status: "ready", version: null, path: null, detail: "a test", fix: null }),
    async open(spec, scope) {
      driver.opened += 1;
      driver.alive = true;
      scope.defer(() => {
        driver.closed += 1;
      });
      return {
        get alive() {
          return driver.alive;
        },
        get restored() {
          return driver.restored;
        },
        send(prompt, signal) {
          const turn = { prompt, session: spec.session.id, signal, spec };
          driver.turns.push(turn);
          return reply(turn);
        },
        ...(steer === undefined ? {} : { steer }),
      };
    },
  };
  return driver;
}

export type TestRuntime = Runtime & {
  store: Store;
  driver: TestDriver;
  /** As a start does before it wakes sessions. */
  recover(): Promise<void>;
  stop(): Promise<void>;
};

export async function testRuntime(
  dir: string,
  driver: TestDriver,
  options: { wrap?: (store: Store) => Store; store?: Store; clock?: Clock; isDead?: () => boolean } = {},
): Promise<TestRuntime> {
  const { clock = systemClock } = options;
  const under = options.store ?? (await openSqliteStore({ path: join(dir, "aegis.db"), clock, log: silentLogger }));
  const store = checkReferences(options.wrap?.(under) ?? under);
  const { config } = await loadConfig({ cwd: dir, harnesses: ["scripted"] });
  if (!config) throw new Error("the empty configuration must load");
  const choice = { slug: offlineAgent.slug, why: "a test" };
  const trusted = {
    untrusted: [],
    declaredSecrets: new Set<string>(),
    refusal: () => null,
  };
  const settings: TrustedSettings = { config, files: [], agents: [offlineAgent], choice, diagnostics: [], ...trusted };
  const end = new AbortController();
  const runtime = buildRuntime({
    root: dir,
    stateDir: dir,
    places: testPlaces(dir),
    store,
    drivers: new DriverTable([driver]),
    clock,
    log: silentLogger,
    settings: () => settings,
    processes: createProcesses({
      ledgerFile: join(dir, "processes.jsonl"),
      owner: dir,
      clock: systemClock,
      log: silentLogger,
    }),
    env: { PATH: process.env.PATH, HOME: join(dir, "home") },
    version: "test",
    url: () => "http://127.0.0.1:0",
    addSecret: () => () => {},
    redact: (text) => text,
    redactedStream: () => new RedactedStream(() => buildRedactor([])),
    trust: { trust: { mayRun: async () => ({ allowed: true }), judge: async () => ({ allowed: true }) } },
    signal: end.signal,
  });
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    // Nothing may finish: a test that restarts its runtime looks at what a crash leaves.
    await runtime.lifecycle.stop(AbortSignal.abort());
    end.abort();
    await runtime.sessions.stop();
    await runtime.conversations.closeAll();
    await runtime.hooks.close("the test is over", end.signal);
    await under.close();
  };
  onTestFinished(async () => {
    if (options.isDead?.() !== true) return stop();
    // What waits for a dead store waits for ever.
    end.abort();
    await under.close();
  });
  const recover = async () => {
    await runtime.lifecycle.recover();
    for (const part of [runtime.subagents, runtime.pool, runtime.groups, runtime.broadcasts]) await part.resume();
    runtime.subagents.start();
  };
  return { ...runtime, store, driver, recover, stop };
}

/** Every event of a type so far. */
export async function eventsOfType<T extends EventType>(store: Store, type: T): Promise<EventOf<T>[]> {
  const events = await store.read.events.list({ types: [type], limit: 10_000 });
  return events as EventOf<T>[];
}

export async function turnsEnded(runtime: TestRuntime, count: number): Promise<void> {
  await waitUntil(`${count} turns have ended`, async () => {
    return (await eventsOfType(runtime.store, "turn.ended")).length >= count;
  });
}

/** Resolves when one more turn of the session has ended than before; other sessions may run meanwhile. */
export async function nextTurnEnded(runtime: TestRuntime, session: SessionId, start: () => Promise<unknown>) {
  const ended = async () => (await eventsOfType(runtime.store, "turn.ended")).filter((one) => one.session === session);
  const before = (await ended()).length;
  await start();
  await waitUntil(`a turn of ${session} has ended`, async () => (await ended()).length > before);
}

export function said(text: string, message = "m1"): DriverEvent {
  return { type: "text", message, text };
}

export const completed: DriverEvent = { type: "turn.ended", reason: "completed", error: null, usage: null };
export const cancelled: DriverEvent = { type: "turn.ended", reason: "cancelled", error: null, usage: null };

/** A reply that waits for the gate of its turn, and ends as cancelled when it is cut. */
export function gated(): { reply: TestReply; open(index: number): void } {
  const gates: PromiseWithResolvers<void>[] = [];
  const gate = (index: number) => {
    gates[index] ??= Promise.withResolvers<void>();
    return gates[index];
  };
  let next = 0;
  return {
    open: (index) => gate(index).resolve(),
    async *reply({ prompt, signal }) {
      const mine = gate(next++);
      const cut = new Promise<"cut">((resolve) => {
        if (signal.aborted) resolve("cut");
        signal.addEventListener("abort", () => resolve("cut"), { once: true });
      });
      if ((await Promise.race([mine.promise, cut])) === "cut") {
        yield cancelled;
        return;
      }
      yield said(`answer to: ${prompt.text}`);
      yield completed;
    },
  };
}
