/** `aegis demo --cluster`: a cluster of three nodes loses one node, then another for a while, then its database. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@aegis/client/client.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { MessageId, TaskId } from "@aegis/contract/ids.ts";
import type { NodeView } from "@aegis/contract/node.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { configFileName, type DaemonFile, inspectDaemonFile, isSameProcess } from "@aegis/lib/daemon-file.ts";
import { signalProcess } from "../../daemon/daemon-process.ts";
import { startDaemon } from "../../daemon/start-daemon.ts";
import type { CliContext } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { DemoPostgres, findPostgres } from "./demo-postgres.ts";
import { expectThat, playTour, type Tour } from "./demo-tour.ts";

const orders = 24;

type Story = { session: SessionView; message: MessageId };

export async function demoCluster(cx: Terminal, keep: boolean): Promise<void> {
  const next = "Your turn: docs/cluster.md, and examples/cluster for a compose file.";
  await playTour(cx, () => ClusterStage.create(cx), { keep, next, play });
}

async function play(tour: Tour, stage: ClusterStage): Promise<void> {
  await tour.step("A PostgreSQL server and three nodes", [
    "Three daemons share one database and work as one. Their agents follow a script,",
    "so no model, no key and no network are needed.",
  ]);
  for (const node of nodeNames) await stage.start(node);
  tour.show(...(await nodeLines(stage, "three")));

  await tour.step("Work on every node", [
    `Two agents tell long stories on node one and node two. ${orders} orders wait in a queue,`,
    "which all nodes serve together.",
  ]);
  const stories = [await tell(stage, "one"), await tell(stage, "two")];
  const tasks = await enqueue(stage);
  await stage.until("a first order", async () => (await endedTasks(stage, tasks)).size > 0);
  tour.show(`${(await endedTasks(stage, tasks)).size} of ${orders} orders are packed`);

  await tour.step("Node one is killed", [
    `kill -9, in the middle of a story. Its lease ends after ${leaseSeconds} s: another node takes over.`,
  ]);
  const pid = await stage.kill("one");
  const killed = performance.now();
  await stage.until("the take-over of node one", async () => (await nodeAt(stage, "one")).state === "lost");
  await stage.until("the move of its session", async () => (await sessionAt(stage, stories[0]))?.node !== "one");
  const place = (await sessionAt(stage, stories[0]))?.node;
  tour.show(`kill -9 ${pid}: ${seconds(killed)} later, its story continues on node ${place}`);
  await stage.start("one");
  expectThat((await nodeAt(stage, "one")).state === "up", "node one must be back");

  await tour.step("Node two is frozen", [
    "A frozen node looks dead. When it wakes up, its work belongs to others: the database",
    "refuses its writes, and the node joins again.",
  ]);
  const before = (await nodeAt(stage, "two")).incarnation;
  const frozen = await stage.freeze("two");
  await stage.until("the take-over of node two", async () => (await nodeAt(stage, "two")).state === "lost");
  await stage.thaw("two");
  await stage.until("the return of node two", async () => {
    const { state, incarnation } = await nodeAt(stage, "two");
    return state === "up" && incarnation > before;
  });
  tour.show(`kill -STOP ${frozen}, then kill -CONT: fenced, and a member again`, ...(await nodeLines(stage, "three")));

  await tour.step("The database is killed and started again", [
    "kill -9 of the server, while all nodes work. Nodes wait for it and continue.",
  ]);
  const server = await stage.server.restart();
  await stage.until("an answer of node three", async () => (await nodeAt(stage, "three")).state === "up");
  tour.show(`kill -9 ${server}, and a new start on the same data`);

  await tour.step("Nothing is lost and nothing is done twice", [
    "The demo counts from outside, in the log of events that all nodes share.",
  ]);
  await stage.until("the end of all orders", async () => (await endedTasks(stage, tasks)).size === orders);
  await stage.until("the end of the stories", async () => {
    const answered = answers(await stage.events("three"));
    return stories.every(({ message }) => answered.has(message));
  });
  const events = await stage.events("three");
  checkOrders(events, tasks);
  for (const { message, session } of stories)
    expectThat(answers(events).get(message) === 1, `the story of ${session.handle} must have been told once`);
  expectThat(
    events.every(({ seq }, index) => seq === index + 1),
    "the events must be numbered without gaps",
  );
  const cut = events.filter((event) => event.type === "turn.ended" && event.data.reason === "lost").length;
  tour.show(
    `${orders} orders packed, each once; ${stories.length} stories told, each once`,
    `${cut} turns were interrupted and repeated; ${events.length} events without a gap`,
  );
}

async function tell(stage: ClusterStage, node: NodeName): Promise<Story> {
  const client = await stage.client(node);
  const body = { agent: "narrator", handle: `narrator-${node}`, prompt: "tell a long story" };
  const { session, receipt } = await client.call("createSession", { body });
  if (receipt === null) throw new Error(`${session.handle} took no message`);
  return { session, message: receipt.message };
}

/** Puts the orders into the queue at all nodes in turn. */
async function enqueue(stage: ClusterStage): Promise<Set<TaskId>> {
  const tasks = new Set<TaskId>();
  for (let number = 1; number <= orders; number += 1) {
    const client = await stage.client(nodeNames[number % nodeNames.length] ?? "three");
    const body = { payload: `order ${number}`, key: `order-${number}` };
    const { task } = await client.call("enqueueTask", { path: { queue: "orders" }, body });
    tasks.add(task.id);
  }
  return tasks;
}

async function endedTasks(stage: ClusterStage, tasks: ReadonlySet<TaskId>): Promise<Set<TaskId>> {
  const ended = (await stage.events("three")).flatMap((event) =>
    event.type === "task.ended" ? [event.data.task] : [],
  );
  return new Set(ended.filter((task) => tasks.has(task)));
}

function checkOrders(events: readonly Event[], tasks: ReadonlySet<TaskId>): void {
  for (const task of tasks) {
    const ends = events.filter((event) => event.type === "task.ended" && event.data.task === task);
    expectThat(ends.length === 1, `${task} must end once, it ended ${ends.length} times`);
    const [end] = ends;
    expectThat(end?.type === "task.ended" && end.data.status === "completed", `${task} must be completed`);
  }
}

/** How many completed turns each message was in. */
function answers(events: readonly Event[]): Map<MessageId, number> {
  const turns = new Map<string, readonly MessageId[]>();
  const counts = new Map<MessageId, number>();
  for (const event of events) {
    if (event.type === "turn.started") turns.set(event.data.turn, event.data.messages);
    if (event.type !== "turn.ended" || event.data.reason !== "completed") continue;
    for (const id of turns.get(event.data.turn) ?? []) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

async function nodeAt(stage: ClusterStage, name: NodeName): Promise<NodeView> {
  const { nodes } = await (await stage.client("three")).call("listNodes");
  const found = nodes.find((node) => node.name === name);
  if (found === undefined) throw new Error(`no node ${name}`);
  return found;
}

async function nodeLines(stage: ClusterStage, at: NodeName): Promise<string[]> {
  const { nodes } = await (await stage.client(at)).call("listNodes");
  return nodes.map(({ name, state, incarnation, sessions }) => {
    return `node ${name.padEnd(5)}  ${state.padEnd(4)}  joined ${incarnation} ×  ${sessions} sessions`;
  });
}

async function sessionAt(stage: ClusterStage, story: Story | undefined): Promise<SessionView | undefined> {
  const { sessions } = await (await stage.client("three")).call("listSessions");
  return sessions.find(({ id }) => id === story?.session.id);
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1_000).toFixed(1)} s`;
}

const nodeNames = ["one", "two", "three"] as const;
type NodeName = (typeof nodeNames)[number];

/** Long enough for a slow machine, short enough for people who watch. */
const leaseSeconds = 4;
const databaseVariable = "AEGIS_DATABASE_URL";
/** A busy machine may take this long for a step. */
const stepMs = 120_000;
const lookMs = 100;

/** A PostgreSQL server and three nodes, each with a folder of its own. */
class ClusterStage {
  readonly root: string;
  readonly server: DemoPostgres;
  readonly goodbye = "The nodes and the server were stopped and the folder was removed.";
  readonly #cx: CliContext;
  readonly #started: DaemonFile[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  #isClosed = false;

  static async create(cx: CliContext): Promise<ClusterStage> {
    const bin = findPostgres(cx);
    const server = await DemoPostgres.create(bin);
    return new ClusterStage(cx, await mkdtemp(join(tmpdir(), "aegis-demo-")), server);
  }

  private constructor(cx: CliContext, root: string, server: DemoPostgres) {
    this.root = root;
    this.server = server;
    // Consent and keys of the demo stay in its folder.
    const env = { ...cx.env, HOME: root, USERPROFILE: root, [databaseVariable]: server.url };
    this.#cx = { ...cx, env };
  }

  async start(node: NodeName): Promise<DaemonFile> {
    if (this.#isClosed) throw new Error("the demo has ended");
    const starting = this.#start(node);
    this.#starting.add(starting);
    try {
      const file = await starting;
      this.#started.push(file);
      return file;
    } finally {
      this.#starting.delete(starting);
    }
  }

  async #start(node: NodeName): Promise<DaemonFile> {
    const folder = this.#folder(node);
    const { env } = this.#cx;
    await mkdir(folder, { recursive: true });
    for (const [path, text] of Object.entries(filesOf(node))) await writeFile(join(folder, path), text);
    const { agreeAlways } = await import("@aegis/project/trust/agree.ts");
    await agreeAlways({ root: folder, env });
    return (await startDaemon({ ...this.#cx, cwd: folder }, folder)).file;
  }

  /** Throws `unavailable` while the node does not run. */
  async client(node: NodeName): Promise<Client> {
    return createClient(await this.#file(node));
  }

  /** Kills a node with SIGKILL. Returns its pid. */
  async kill(node: NodeName): Promise<number> {
    const file = await this.#file(node);
    signalProcess(file.pid, "SIGKILL");
    await this.until(`the end of pid ${file.pid}`, async () => !isSameProcess(file));
    return file.pid;
  }

  async freeze(node: NodeName): Promise<number> {
    const { pid } = await this.#file(node);
    signalProcess(pid, "SIGSTOP");
    return pid;
  }

  async thaw(node: NodeName): Promise<void> {
    signalProcess((await this.#file(node)).pid, "SIGCONT");
  }

  /** Asks until the answer is yes. A node that does not answer counts as no. */
  async until(what: string, done: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + stepMs;
    for (;;) {
      const isDone = await done().catch((error: unknown) => {
        if (error instanceof AegisError && error.code === "unavailable") return false;
        throw error;
      });
      if (isDone) return;
      if (performance.now() > deadline) throw new Error(`${what} did not happen within ${stepMs / 1_000} s`);
      await systemClock.sleep(lookMs);
    }
  }

  /** Everything that the cluster has recorded. */
  async events(node: NodeName): Promise<Event[]> {
    const client = await this.client(node);
    const events: Event[] = [];
    for (let after = 0; ; after = events.at(-1)?.seq ?? 0) {
      const page = await client.call("listEvents", { query: { after: String(after), limit: "1000" } });
      if (page.events.length === 0) return events;
      events.push(...page.events);
    }
  }

  /** Ends everything in every case, and removes the folder unless `keep` is set. */
  async close(keep: boolean): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#starting);
    await Promise.all(nodeNames.map((node) => this.#shutDown(node)));
    // Also a node that is fenced and has no address at the moment.
    for (const file of this.#started) if (isSameProcess(file)) signalProcess(file.pid, "SIGKILL");
    await this.server.remove();
    if (!keep) await rm(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  async #shutDown(node: NodeName): Promise<void> {
    const file = await this.#file(node).catch(() => null);
    if (file === null) return;
    signalProcess(file.pid, "SIGCONT");
    await createClient(file)
      .call("shutdown", { body: { force: true }, signal: AbortSignal.timeout(5_000) })
      .catch(() => {});
    const deadline = performance.now() + 10_000;
    while (isSameProcess(file) && performance.now() < deadline) await systemClock.sleep(20);
  }

  #folder(node: NodeName): string {
    return join(this.root, node);
  }

  async #file(node: NodeName): Promise<DaemonFile> {
    const found = await inspectDaemonFile(this.#folder(node), this.root);
    if (found.state !== "live") throw new AegisError("unavailable", `node ${node} does not run`);
    return found.file;
  }
}

function filesOf(node: NodeName): Record<string, string> {
  // JSON is YAML. The name of the node differs by machine, so it is in the local file.
  const database = `\${${databaseVariable}}`;
  return {
    [configFileName]: JSON.stringify({
      default_agent: "packer",
      agents: {
        packer: { harness: "scripted", playbook: "packer.yaml", description: "Packs orders." },
        narrator: { harness: "scripted", playbook: "narrator.yaml", description: "Takes its time." },
      },
      queues: { orders: { agent: "packer", max_parallel: 4, retries: 10 } },
      cluster: { database, project: "demo", lease: `${leaseSeconds}s` },
    }),
    ".aegis.local.yaml": JSON.stringify({ cluster: { node } }),
    "packer.yaml": JSON.stringify({
      rules: [{ name: "pack", when: "always", steps: [{ wait: 1_500 }, { say: "packed {text}" }] }],
    }),
    "narrator.yaml": JSON.stringify({
      rules: [
        {
          name: "tell a long story",
          when: "always",
          steps: [{ say: "Once upon a time" }, { wait: 12_000 }, { say: "there was a cluster. The end." }],
        },
      ],
    }),
  };
}
