/** Opens a conversation of the offline agent over a project folder made for one test. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Agent, agentSchema } from "@aegis/contract/agent.ts";
import { newId } from "@aegis/contract/ids.ts";
import { type Clock, systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { agentOf } from "@aegis/test/helpers/agents.ts";
import { type DriverHost, type DriverHostOptions, driverHost } from "@aegis/test/helpers/driver-host.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { onTestFinished } from "vitest";
import type { Conversation } from "../../src/driver.ts";
import { createScriptedDriver } from "../../src/scripted/driver.ts";

/** Where the agent's own tools do not look, so that a playbook is not part of what they find. */
const playbookPath = ".aegis/state/playbook.yaml";

export type ScriptedSetup = {
  /** Files of the project, by path. */
  files?: Record<string, string>;
  /** A playbook of the project; the default one when absent. */
  playbook?: string;
  agent?: Partial<Agent>;
  host?: DriverHostOptions;
  clock?: Clock;
};

export async function openScripted(
  setup: ScriptedSetup = {},
): Promise<{ conversation: Conversation; host: DriverHost; dir: string }> {
  const dir = await tempDir();
  const files = { ...setup.files, ...(setup.playbook === undefined ? {} : { [playbookPath]: setup.playbook }) };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  const clock = setup.clock ?? systemClock;
  const host = driverHost(setup.host);
  const scope = new AsyncDisposableStack();
  onTestFinished(() => scope.disposeAsync());
  const conversation = await createScriptedDriver({
    env: {},
    processes: createProcesses({ ledgerFile: join(dir, "children.jsonl"), owner: dir, clock, log: silentLogger }),
    clock,
    log: silentLogger,
  }).open(
    {
      session: { id: newId("ses", 0), handle: "lucid-hertz" },
      agent: agentSchema.parse(
        agentOf({
          harness: "scripted",
          options: setup.playbook === undefined ? {} : { playbook: playbookPath },
          ...setup.agent,
        }),
      ),
      cwd: dir,
      stateDir: dir,
      systemPrompt: "",
      resume: null,
      fork: null,
      memory: [],
      plane: null,
      host,
    },
    scope,
  );
  return { conversation, host, dir };
}
