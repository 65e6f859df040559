/**
 * A project with agents of real CLIs, served by the built daemon, for all tests of a file: CLIs are slow to start. At
 * its end no process of it may be left.
 */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { systemProcessTable } from "@aegis/lib/process/table.ts";
import { afterAll, beforeAll, expect } from "vitest";
import buildPackage from "../../helpers/global-setup.ts";
import { obedient, sharedDaemon } from "../../helpers/project.ts";
import type { LiveHarness, LiveModel, Places } from "./harness.ts";

/** The queue of the project. Its worker is the offline agent. */
export const queue = "errands";

export type Team = {
  readonly client: Client;
  readonly places: Places;
  readonly project: string;
  model(harness: LiveHarness): LiveModel;
  /** The processes of the CLIs, also those that an earlier daemon of this project started. */
  processes(): number[];
  /** Kills the CLIs, and not what they started. */
  killClis(): void;
  killDaemon(): Promise<void>;
  stopDaemon(): Promise<void>;
  startDaemon(): Promise<void>;
};

/** The agent of a harness that may change nothing. */
export function looker(harness: string): string {
  return `${harness}-looker`;
}

/** One agent per harness, named like it, and its looker. */
export function liveTeam(harnesses: readonly LiveHarness[]): Team {
  const models = new Map<LiveHarness, LiveModel>();
  const files = { ...obedient };
  let folder = "";
  beforeAll(async () => {
    buildPackage();
    folder = await realpath(await mkdtemp(join(tmpdir(), "aegis-live-")));
    for (const harness of harnesses) models.set(harness, await harness.start(folder));
    files[".aegis.yaml"] = JSON.stringify(settings(models));
  });
  afterAll(async () => {
    for (const model of models.values()) await model.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  });
  const shared = sharedDaemon(files);
  afterAll(async () => {
    await stopDaemon();
    expect(team.processes()).toEqual([]);
  });

  async function stopDaemon(): Promise<void> {
    await shared.daemon.client.call("shutdown", { body: { force: true } }).catch(() => shared.daemon.kill());
    await shared.daemon.exited;
  }

  const team: Team = {
    get client() {
      return shared.daemon.client;
    },
    get places() {
      return { folder, home: join(dirname(shared.project.dir), "home"), state: stateOf(shared.project.dir) };
    },
    get project() {
      return shared.project.dir;
    },
    model(harness) {
      const model = models.get(harness);
      if (model === undefined) throw new Error(`no agent of ${harness.harness} is on this team`);
      return model;
    },
    processes: () => processesOf(team.places.state).map((info) => info.pid),
    killClis() {
      for (const { pid, group } of processesOf(team.places.state)) if (pid === group) process.kill(pid, "SIGKILL");
    },
    killDaemon: () => shared.daemon.kill(),
    stopDaemon,
    async startDaemon() {
      shared.daemon = await shared.project.start();
    },
  };
  return team;
}

function settings(models: ReadonlyMap<LiveHarness, LiveModel>) {
  const agents = [...models].flatMap(([{ harness, agent: name = harness }, { agent }]) => {
    const { model, ...rest } = agent;
    const whole = { harness, ...rest, ...(model === null ? {} : { model }) };
    return [
      [name, whole],
      [looker(name), { ...whole, deny_tools: ["bash", "edit", "write"] }],
    ];
  });
  return {
    agents: { ...Object.fromEntries(agents), runner: { harness: "scripted", playbook: "playbook.yaml" } },
    queues: { [queue]: { agent: "runner" } },
  };
}

function stateOf(project: string): string {
  return join(project, ".aegis", "state");
}

/** Every child carries the folder of its daemon's state in its environment. */
function processesOf(state: string) {
  const table = systemProcessTable();
  const mark = `AEGIS_OWNER=${state}`;
  return table.list().filter((info) => !info.zombie && (table.environment(info.pid)?.includes(mark) ?? false));
}
