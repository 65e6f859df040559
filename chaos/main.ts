/**
 * Kills the daemon with SIGKILL at seeded random instants under load, again and again, and then checks from the outside
 * that nothing it acknowledged was lost and nothing was done twice. Or, instead of at random instants, right after each
 * commit of a set of runs. Ctrl-C ends the rounds; what they did is still counted. A second Ctrl-C ends the run at once.
 *
 *   npm run chaos -- [--of messages|workflows|agents|delegation|schedules] [--rounds 200] [--seed N] [--writers 2] [--keep]
 *   npm run chaos -- --of claims [--edits 1000]     agents that share a file; the edits come after the rounds
 *   npm run chaos -- --of landings [--agents 20]    agents in worktrees that land through the merge queue
 *   npm run chaos -- --cluster [--rounds 200] [--seed N] [--fault "kill of a node"]...
 *                                                   several nodes on a PostgreSQL server that it starts
 *   npm run chaos -- --cluster --failover [--rounds 20]
 *                                                   the same with a primary that is killed and a standby that replaces it
 *   npm run chaos -- --of commits [--workflow tricky] [--every 1] [--seed N]
 */
import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { buildIfStale } from "../scripts/build-if-stale.ts";
import { Agents } from "./agents.ts";
import { Person } from "./asks.ts";
import { type Finding, readAllEvents } from "./check.ts";
import { Claims } from "./claims.ts";
import { runFailover } from "./cluster/failover.ts";
import { runCluster } from "./cluster/main.ts";
import { cutAfterCommits } from "./commits.ts";
import { type ChaosDaemon, endDaemons, startDaemon, upTogether } from "./daemon.ts";
import { Delegation } from "./delegation.ts";
import { Landings } from "./landings.ts";
import { Messages } from "./messages.ts";
import { createProject } from "./project.ts";
import { createRandom, type Random } from "./random.ts";
import { report, say } from "./report.ts";
import type { Checked, Scenario } from "./scenario.ts";
import { Schedules } from "./schedules.ts";
import { listenForStop, type Stop, StoppedError } from "./stop.ts";
import { Workflows } from "./workflows.ts";

/** Most kills meet a start or the work right after it; some come when an agent's process has had time to answer. */
const shortLifeMs = 350;
const middleLifeMs = 1_500;
const middleLifeShare = 0.35;
/** Short lives under load pile work up. In a long one nothing is added, so that kills also meet work's end. */
const longLifeMs = 3_000;
const longLifeEvery = 10;
/** How often something else than the daemon is killed, and how often `aegis up` is run several times at once. */
const disturbShare = 0.3;
const upTogetherShare = 0.1;
const upsAtOnce = 3;
/** How long a daemon takes to start on a machine that does nothing else. */
const quickStartMs = 800;
const mostSlowness = 3;
/** As a shell reports a program that SIGINT ended. */
const stoppedCode = 130;

type Options = {
  of: string | undefined;
  cluster: boolean;
  failover: boolean;
  faults: readonly string[] | undefined;
  rounds: number;
  every: number;
  workflow: string | undefined;
  seed: number;
  writers: number;
  keep: boolean;
  edits: number;
  agents: number;
};

async function main(): Promise<number> {
  const options = readOptions();
  const stop = listenForStop();
  buildIfStale();
  try {
    return await run(options, stop);
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error;
    say("stopped before anything was checked");
    return stoppedCode;
  }
}

async function run(options: Options, stop: Stop): Promise<number> {
  if (options.cluster) return options.failover ? runFailover(options, stop) : runCluster(options, stop);
  const random = createRandom(options.seed);
  if (options.of === "commits") return afterCommits(options, random);
  const scenarios = scenariosOf(options, random);
  const project = await createProject(Object.assign({}, ...scenarios.map((one) => one.files)));
  for (const scenario of scenarios) await scenario.arrange?.(project);
  say(`seed ${options.seed}, ${options.rounds} rounds, in ${project}`);
  const play = new KillRounds(project, scenarios, random, stop.rounds);
  const { kills, findings, counts } = await stop.orNow(play.run(options.rounds)).catch(async (error: unknown) => {
    endDaemons(project);
    if (error instanceof StoppedError && !options.keep) await rm(project, { recursive: true, force: true });
    endDaemons(project);
    throw error;
  });
  for (const [what, count] of Object.entries(counts)) say(`  ${count} ${what}`);
  report(`${kills} kills`, findings);
  if (findings.length > 0) {
    const of = options.of === undefined ? "" : ` --of ${options.of}`;
    say(`the project is kept in ${project}; the same again: --rounds ${options.rounds} --seed ${options.seed}${of}`);
    return 1;
  }
  if (!options.keep) await rm(project, { recursive: true, force: true });
  return 0;
}

async function afterCommits({ every, workflow, seed }: Options, random: Random): Promise<number> {
  say(`seed ${seed}, after every ${every === 1 ? "commit" : `${every} commits`}`);
  const { kills, findings } = await cutAfterCommits({ workflow, every, from: random.between(1, every), say });
  report(`${kills} kills`, findings);
  return findings.length === 0 ? 0 : 1;
}

/** One project whose daemon is killed again and again. */
class KillRounds {
  readonly #project: string;
  readonly #scenarios: readonly Scenario[];
  readonly #random: Random;
  readonly #person: Person;
  readonly #stopping: AbortSignal;
  #daemon: ChaosDaemon | null = null;
  #lives = 0;
  /** On a busy machine as much must happen between two kills as on a quiet one. */
  #slowness = 1;
  #upsTogether = 0;

  constructor(project: string, scenarios: readonly Scenario[], random: Random, stopping: AbortSignal) {
    this.#project = project;
    this.#stopping = stopping;
    this.#scenarios = scenarios;
    this.#random = random;
    this.#person = new Person(random);
  }

  /** Ends early, with everything counted, when it is told to stop. */
  async run(rounds: number): Promise<Checked & { kills: number }> {
    try {
      const kills = await this.#killAgainAndAgain(rounds);
      return { kills, ...(await this.#settle()) };
    } finally {
      await this.#daemon?.kill();
      endDaemons(this.#project);
    }
  }

  async #killAgainAndAgain(rounds: number): Promise<number> {
    const { client } = await this.#start();
    for (const scenario of this.#scenarios) await scenario.prepare(client);
    let round = 0;
    while (round < rounds && !this.#stopping.aborted) {
      round += 1;
      await this.#live(round);
      if (round % 50 === 0) say(`  round ${round}: ${progressOf(this.#scenarios)}`);
    }
    const last = await this.#start();
    for (const scenario of this.#scenarios) await scenario.finish(last.client);
    await last.kill();
    this.#daemon = null;
    return round;
  }

  /** What is left of the life of the daemon that runs, or the whole life of the next one. */
  async #live(round: number): Promise<void> {
    const daemon = this.#daemon ?? (await this.#start());
    const wanted = Math.max(0, ...this.#scenarios.map((scenario) => scenario.lifeMs ?? 0));
    const isLong = wanted === 0 && round % longLifeEvery === 0;
    const loads = isLong ? [] : this.#scenarios.map((scenario) => scenario.load(daemon.client, round));
    const attending = this.#person.attend(daemon.client);
    const lifeMs = this.#slowness * this.#random.between(0, wanted || (isLong ? longLifeMs : this.#shorterLifeMs()));
    if (this.#random.next() < disturbShare) {
      await delay(lifeMs / 2);
      for (const scenario of this.#scenarios) await scenario.disturb?.(this.#project);
      await delay(lifeMs / 2);
    } else await delay(lifeMs);
    await daemon.kill();
    this.#daemon = null;
    await Promise.all([...loads, attending].map((load) => load.stop()));
  }

  #shorterLifeMs(): number {
    return this.#random.next() < middleLifeShare ? middleLifeMs : shortLifeMs;
  }

  async #start(): Promise<ChaosDaemon> {
    const isTogether = this.#lives > 0 && this.#random.next() < upTogetherShare;
    const begun = performance.now();
    if (isTogether) this.#upsTogether += 1;
    this.#daemon = await (isTogether ? upTogether(this.#project, upsAtOnce) : startDaemon(this.#project));
    if (!isTogether) this.#slowness = Math.min(mostSlowness, Math.max(1, (performance.now() - begun) / quickStartMs));
    this.#lives += 1;
    return this.#daemon;
  }

  /** Lets a last daemon finish everything, and reads what it says has happened. */
  async #settle(): Promise<Checked> {
    const { client } = await this.#start();
    this.#person.hurry();
    const attending = this.#person.attend(client);
    const findings: Finding[] = [];
    try {
      for (const scenario of this.#scenarios) await scenario.drained(client);
    } catch (error) {
      findings.push({ kind: "unanswered", what: error instanceof Error ? error.message : String(error) });
    }
    await attending.stop();
    const events = await readAllEvents(client);
    const starts = events.filter(({ type }) => type === "daemon.started").length;
    if (starts !== this.#lives)
      findings.push({ kind: "different", what: `${starts} daemons say that they started instead of ${this.#lives}` });
    const checked = [this.#person.check(events)];
    for (const scenario of this.#scenarios) checked.push(await scenario.check(events, this.#project));
    return {
      findings: [...findings, ...checked.flatMap((one) => one.findings)],
      counts: Object.assign(
        { "concurrent `aegis up`": this.#upsTogether * upsAtOnce },
        ...checked.map((one) => one.counts),
        { events: events.length },
      ),
    };
  }
}

function progressOf(scenarios: readonly Scenario[]): string {
  return scenarios.map((scenario) => scenario.progress()).join(", ");
}

function scenariosOf({ of, writers, rounds, edits, agents }: Options, random: Random): Scenario[] {
  const all: Record<string, () => Scenario> = {
    messages: () => new Messages(random, writers),
    workflows: () => new Workflows(),
    agents: () => new Agents(random),
    delegation: () => new Delegation(random),
    schedules: () => new Schedules(random, { rounds }),
  };
  /** These change the project for all others. */
  const alone: Record<string, () => Scenario> = {
    claims: () => new Claims(random, edits),
    landings: () => new Landings(agents),
  };
  if (of === undefined) return Object.values(all).map((make) => make());
  const make = all[of] ?? alone[of];
  const names = Object.keys({ ...all, ...alone }).join(", ");
  if (make === undefined) throw new Error(`--of ${of}: expected commits or one of ${names}`);
  return [make()];
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      of: { type: "string" },
      cluster: { type: "boolean", default: false },
      failover: { type: "boolean", default: false },
      fault: { type: "string", multiple: true },
      rounds: { type: "string", default: "200" },
      every: { type: "string", default: "1" },
      workflow: { type: "string" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      writers: { type: "string", default: "2" },
      keep: { type: "boolean", default: false },
      edits: { type: "string", default: "0" },
      agents: { type: "string", default: "20" },
    },
  });
  return {
    of: values.of,
    cluster: values.cluster,
    failover: values.failover,
    faults: values.fault,
    rounds: Number(values.rounds),
    every: Math.max(1, Number(values.every)),
    workflow: values.workflow,
    seed: Number(values.seed),
    writers: Number(values.writers),
    keep: values.keep,
    edits: Number(values.edits),
    agents: Math.max(1, Number(values.agents)),
  };
}

// Rounds that were stopped may still wait for something.
process.exit(await main());
