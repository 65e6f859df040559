/**
 * Kills the daemon with SIGKILL at seeded random instants under load, again and again, and then checks from the outside
 * that nothing it acknowledged was lost and nothing was done twice.
 *
 *   npm run chaos -- [--of messages|workflows] [--rounds 200] [--seed N] [--writers 4] [--keep]
 */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Client } from "../src/client/client.ts";
import type { SessionId } from "../src/contract/ids.ts";
import { checkHistory, type Finding, readAllEvents } from "./check.ts";
import { type ChaosDaemon, startDaemon } from "./daemon.ts";
import { deliver, type Sent, startLoad } from "./load.ts";
import { createRandom, type Random } from "./random.ts";
import { killWorkflows } from "./workflows.ts";

const longestLifeMs = 350;
const drainDeadlineMs = 120_000;

const playbook = `
rules:
  - name: keep what a peer hands over
    from: agent
    when: always
    steps:
      - say: "kept"
  - name: pass on
    when: token
    steps:
      - wait: 3
      - tool: aegis_handoff
        input: { target_handle: sink-one, context: "{text}" }
      - wait: 2
      - say: "passed on"
  - name: anything else
    when: always
    steps:
      - say: "noted"
`;

const config = `
default_agent: relay
messages: { max_per_minute: 1000000 }
agents:
  relay: { harness: scripted, playbook: relay.yaml }
`;

type Options = { of: "messages" | "workflows"; rounds: number; seed: number; writers: number; keep: boolean };

async function main(): Promise<number> {
  const options = readOptions();
  execFileSync("npx", ["--no-install", "tsdown", "--logLevel", "warn"], {
    cwd: fileURLToPath(new URL("..", import.meta.url)),
    stdio: "inherit",
  });
  const project = await mkdtemp(join(tmpdir(), "aegis-chaos-"));
  say(`${options.of}: seed ${options.seed}, ${options.rounds} rounds, in ${project}`);
  const findings = options.of === "workflows" ? await killRuns(project, options) : await killMessages(project, options);
  if (!options.keep && findings.length === 0) await rm(project, { recursive: true, force: true });
  return findings.length === 0 ? 0 : 1;
}

async function killMessages(project: string, options: Options): Promise<Finding[]> {
  await writeFile(join(project, ".aegis.yaml"), config);
  await writeFile(join(project, "relay.yaml"), playbook);
  const sent = await killAgainAndAgain(project, options);
  const findings = await settle(project, sent);
  const acknowledged = sent.filter((message) => message.acknowledged).length;
  report(`${options.rounds} kills, ${sent.length} messages (${acknowledged} acknowledged)`, findings);
  return findings;
}

async function killRuns(project: string, { rounds, seed }: Options): Promise<Finding[]> {
  const { runs, findings } = await killWorkflows(project, { rounds, random: createRandom(seed), say });
  report(`${rounds} kills, ${runs} runs of a workflow`, findings);
  return findings;
}

async function killAgainAndAgain(project: string, options: Options): Promise<Sent[]> {
  const random = createRandom(options.seed);
  const sent = new Set<Sent>();
  let backlog: Sent[] = [];
  let daemon = await startDaemon(project);
  const sessions = await createSessions(daemon.client);
  for (let round = 1; round <= options.rounds; round++) {
    const load = startLoad(daemon.client, { writers: options.writers, sessions, random, backlog });
    await delay(random.between(0, longestLifeMs));
    await daemon.kill();
    await load.stop();
    for (const message of load.sent) sent.add(message);
    backlog = leftovers(load.sent, random);
    daemon = await startDaemon(project);
    if (round % 20 === 0) say(`  round ${round}: ${sent.size} messages sent`);
  }
  await finish(daemon, backlog);
  return [...sent];
}

/** What a sender without an answer does: some send again with the same id, some give up. Both must come out right. */
function leftovers(sent: readonly Sent[], random: Random): Sent[] {
  return sent.filter((message) => !message.acknowledged && random.next() < 0.7);
}

async function finish(daemon: ChaosDaemon, backlog: readonly Sent[]): Promise<void> {
  for (const message of backlog) await deliver(daemon.client, message);
  await daemon.kill();
}

async function createSessions(client: Client): Promise<SessionId[]> {
  await client.call("createSession", { body: { handle: "sink-one" } });
  const ids: SessionId[] = [];
  for (const handle of ["relay-one", "relay-two", "relay-three"]) {
    const { session } = await client.call("createSession", { body: { handle } });
    ids.push(session.id);
  }
  return ids;
}

/** Lets a last daemon finish everything, and reads what it says has happened. */
async function settle(project: string, sent: readonly Sent[]): Promise<Finding[]> {
  const daemon = await startDaemon(project);
  try {
    await drained(daemon.client);
    return checkHistory(sent, await readAllEvents(daemon.client));
  } finally {
    await daemon.kill();
  }
}

async function drained(client: Client): Promise<void> {
  const deadline = performance.now() + drainDeadlineMs;
  while (performance.now() < deadline) {
    const status = await client.call("status");
    if (status.pending_messages === 0 && status.sessions.working === 0) return;
    await delay(50);
  }
  throw new Error(`work was still left after ${drainDeadlineMs} ms`);
}

function report(what: string, findings: readonly Finding[]): void {
  const count = (kind: Finding["kind"]) => findings.filter((finding) => finding.kind === kind).length;
  for (const finding of findings.slice(0, 20)) say(`  ${finding.kind}: ${finding.what}`);
  say(
    `${what}: ${count("lost")} lost, ${count("doubled")} doubled, ${count("unanswered")} unanswered, ` +
      `${count("disorder")} out of order`,
  );
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      of: { type: "string", default: "messages" },
      rounds: { type: "string", default: "200" },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      writers: { type: "string", default: "4" },
      keep: { type: "boolean", default: false },
    },
  });
  if (values.of !== "messages" && values.of !== "workflows")
    throw new Error(`--of ${values.of}: expected messages or workflows`);
  return {
    of: values.of,
    rounds: Number(values.rounds),
    seed: Number(values.seed),
    writers: Number(values.writers),
    keep: values.keep,
  };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main();
