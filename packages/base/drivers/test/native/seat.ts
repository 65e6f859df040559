/** A native conversation against a fake model API, with everything a test wants to look at. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Agent, unsaidAgentFields } from "@aegis/contract/agent.ts";
import { newId } from "@aegis/contract/ids.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { type DriverHost, type DriverHostOptions, driverHost } from "@aegis/test/helpers/driver-host.ts";
import { openaiChatWire } from "@aegis/test/helpers/fake-models/openai-chat.ts";
import { type FakeModels, type FakeScript, fakeModels } from "@aegis/test/helpers/fake-models/server.ts";
import type { Wire } from "@aegis/test/helpers/fake-models/wire.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { eventsOf, runTurn } from "@aegis/test/helpers/turns.ts";
import { expect, onTestFinished } from "vitest";
import type { Conversation, DriverEvent } from "../../src/driver.ts";
import { createNativeDriver } from "../../src/native/driver.ts";

export type SeatOptions = {
  wire?: Wire;
  agent?: Partial<Agent>;
  host?: DriverHostOptions;
  clock?: Clock;
  memory?: readonly unknown[];
  /** Path → content of the project. */
  files?: Record<string, string>;
};

export type Seat = {
  dir: string;
  models: FakeModels;
  host: DriverHost;
  conversation: Conversation;
  /** What the daemon would have stored. */
  memory: unknown[];
  say(text: string): Promise<DriverEvent[]>;
  open(memory: readonly unknown[]): Promise<Conversation>;
};

export async function seat(script: FakeScript, options: SeatOptions = {}): Promise<Seat> {
  const root = await tempDir();
  const dir = join(root, "project");
  await mkdir(dir);
  for (const [path, content] of Object.entries(options.files ?? {})) await writeProjectFile(dir, path, content);
  const wire = options.wire ?? openaiChatWire;
  const models = await fakeModels(wire, script);
  const host = driverHost(options.host);
  const children = { ledgerFile: join(root, "children.jsonl"), owner: root, clock: systemClock, log: silentLogger };
  const driver = createNativeDriver({
    env: { PATH: process.env.PATH, FAKE_KEY: "secret-key-value", OPENAI_API_KEY: "do-not-leak-this" },
    processes: createProcesses(children),
    clock: options.clock ?? systemClock,
    log: silentLogger,
    models: {
      fake: { base_url: models.url, api: wire.api, key_env: "FAKE_KEY" },
      openrouter: { base_url: models.url, key_env: "FAKE_KEY" },
    },
  });
  const scopes: AsyncDisposableStack[] = [];
  onTestFinished(async () => {
    for (const scope of scopes) await scope.disposeAsync();
    expect(await createProcesses(children).sweep()).toEqual([]);
  });
  const open = async (memory: readonly unknown[]) => {
    const scope = new AsyncDisposableStack();
    scopes.push(scope);
    const session = { id: newId("ses", 0), handle: "lucid-hertz" };
    const spec = { session, agent: agentOf(options.agent), cwd: dir, stateDir: root, systemPrompt: "You are a test." };
    return await driver.open({ ...spec, resume: null, fork: null, memory, plane: null, host }, scope);
  };
  const conversation = await open(options.memory ?? []);
  const memory: unknown[] = [...(options.memory ?? [])];
  return {
    dir,
    models,
    host,
    conversation,
    memory,
    open,
    async say(text) {
      const events = await runTurn(conversation, text);
      memory.push(...eventsOf(events, "memory").map((event) => event.value));
      return events;
    },
  };
}

export function agentOf(change: Partial<Agent> = {}): Agent {
  return {
    ...unsaidAgentFields,
    slug: "tester",
    ref: "tester",
    description: "",
    harness: "native",
    model: "fake/fake-model",
    permission: "full",
    source: "config",
    ...change,
  };
}

export async function writeProjectFile(dir: string, path: string, content: string): Promise<void> {
  await mkdir(dirname(join(dir, path)), { recursive: true });
  await writeFile(join(dir, path), content);
}
