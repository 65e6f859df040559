/**
 * Kills the daemon with SIGKILL at seeded random instants under load, again and again, and then checks from the outside
 * that nothing it acknowledged was lost and nothing was done twice. Or, instead of at random instants, right after each
 * commit of a set of runs.
 *
 *   npm run chaos -- [--of messages|workflows] [--rounds 200] [--seed N] [--writers 4] [--keep]
 *   npm run chaos -- --of commits [--workflow tricky] [--every 1] [--seed N]
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { buildIfStale } from "../scripts/build-if-stale.ts";
import { type Finding, readAllEvents } from "./check.ts";
import { cutAfterCommits } from "./commits.ts";
import { startDaemon } from "./daemon.ts";
import { Messages } from "./messages.ts";
import { createRandom, type Random } from "./random.ts";
import type { Scenario } from "./scenario.ts";
import { Workflows } from "./workflows.ts";

const shortLifeMs = 350;
/** Short lives under load pile work up. In a long one nothing is added, so that kills also meet work's end. */
const longLifeMs = 3_000;
const longLifeEvery = 10;

const config = `
default_agent: relay
messages: { max_per_minute: 1000000 }
agents:
  relay: { harness: scripted, playbook: relay.yaml }
  noter: { harness: scripted, playbook: noter.yaml }
queues:
  work: { agent: noter, max_parallel: 4, retries: 100 }
`;

type Options = {
  of: string | undefined;
  rounds: number;
  every: number;
  workflow: string | undefined;
  seed: number;
  writers: number;
  keep: boolean;
};

async function main(): Promise<number> {
  const options = readOptions();
  buildIfStale();
  const random = createRandom(options.seed);
  if (options.of === "commits") return afterCommits(options, random);
  const project = await mkdtemp(join(tmpdir(), "aegis-chaos-"));
  const scenarios = scenariosOf(options, random);
  const files = Object.assign(
    { "relay.yaml": "rules: []\n", "noter.yaml": "rules: []\n" },
    ...scenarios.map((one) => one.files),
  );
  for (const [path, text] of Object.entries<string>({ ...files, ".aegis.yaml": config })) {
    await mkdir(dirname(join(project, path)), { recursive: true });
    await writeFile(join(project, path), text);
  }
  say(`seed ${options.seed}, ${options.rounds} rounds, in ${project}`);
  await killAgainAndAgain(project, scenarios, options.rounds, random);
  const findings = await settle(project, scenarios);
  report(`${options.rounds} kills, ${progressOf(scenarios)}`, findings);
  if (!options.keep && findings.length === 0) await rm(project, { recursive: true, force: true });
  return findings.length === 0 ? 0 : 1;
}

async function afterCommits({ every, workflow, seed }: Options, random: Random): Promise<number> {
  say(`seed ${seed}, after every ${every === 1 ? "commit" : `${every} commits`}`);
  const { kills, findings } = await cutAfterCommits({ workflow, every, from: random.between(1, every), say });
  report(`${kills} kills`, findings);
  return findings.length === 0 ? 0 : 1;
}

async function killAgainAndAgain(
  project: string,
  scenarios: readonly Scenario[],
  rounds: number,
  random: Random,
): Promise<void> {
  let daemon = await startDaemon(project);
  for (const scenario of scenarios) await scenario.prepare(daemon.client);
  for (let round = 1; round <= rounds; round++) {
    const isLong = round % longLifeEvery === 0;
    const loads = isLong ? [] : scenarios.map((scenario) => scenario.load(daemon.client));
    await delay(random.between(0, isLong ? longLifeMs : shortLifeMs));
    await daemon.kill();
    await Promise.all(loads.map((load) => load.stop()));
    daemon = await startDaemon(project);
    if (round % 50 === 0) say(`  round ${round}: ${progressOf(scenarios)}`);
  }
  for (const scenario of scenarios) await scenario.finish(daemon.client);
  await daemon.kill();
}

/** Lets a last daemon finish everything, and reads what it says has happened. */
async function settle(project: string, scenarios: readonly Scenario[]): Promise<Finding[]> {
  const daemon = await startDaemon(project);
  try {
    for (const scenario of scenarios) await scenario.drained(daemon.client);
    const events = await readAllEvents(daemon.client);
    return scenarios.flatMap((scenario) => scenario.check(events));
  } finally {
    await daemon.kill();
  }
}

function report(what: string, findings: readonly Finding[]): void {
  const count = (kind: Finding["kind"]) => findings.filter((finding) => finding.kind === kind).length;
  for (const finding of findings.slice(0, 20)) say(`  ${finding.kind}: ${finding.what}`);
  say(
    `${what}: ${count("lost")} lost, ${count("doubled")} doubled, ${count("unanswered")} unanswered, ` +
      `${count("disorder")} out of order, ${count("different")} different`,
  );
}

function progressOf(scenarios: readonly Scenario[]): string {
  return scenarios.map((scenario) => scenario.progress()).join(", ");
}

function scenariosOf({ of, writers }: Options, random: Random): Scenario[] {
  const all = { messages: () => new Messages(random, writers), workflows: () => new Workflows() };
  if (of === undefined) return Object.values(all).map((make) => make());
  if (of === "messages" || of === "workflows") return [all[of]()];
  throw new Error(`--of ${of}: expected messages, workflows or commits`);
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      of: { type: "string" },
      rounds: { type: "string", default: "200" },
      every: { type: "string", default: "1" },
      workflow: { type: "string" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      writers: { type: "string", default: "4" },
      keep: { type: "boolean", default: false },
    },
  });
  return {
    of: values.of,
    rounds: Number(values.rounds),
    every: Math.max(1, Number(values.every)),
    workflow: values.workflow,
    seed: Number(values.seed),
    writers: Number(values.writers),
    keep: values.keep,
  };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main();
