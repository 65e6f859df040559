/**
 * Three nodes on one PostgreSQL server lose one node, then another for a while, then the server. The program counts in
 * the log of events that nothing is lost and nothing is done twice.
 */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Client, connect, type Event, isAegisError } from "aegis/client";
import { startPostgres } from "./postgres.ts";

const orders = 24;
/** Long enough for a slow machine, short enough for people who watch. */
const lease = "4s";
const nodes = ["one", "two", "three"] as const;
type Node = (typeof nodes)[number];

const run = promisify(execFile);
const stopped = new AbortController();
process.once("SIGINT", () => stopped.abort(new Error("interrupted")));
const root = await mkdtemp(join(tmpdir(), "aegis-cluster-"));
const server = await startPostgres(await mkdtemp(join(tmpdir(), "aegis-cluster-pg-")));
// The settings that this user's Aegis remembers stay in the folder of the example.
const env = { ...process.env, HOME: root, AEGIS_DATABASE_URL: server.url };
const pids = new Map<Node, number>();

async function start(node: Node): Promise<Client> {
  const folder = join(root, node);
  await mkdir(folder, { recursive: true });
  for (const file of [".aegis.yaml", "robot.yaml"]) await copyFile(join(import.meta.dirname, file), join(folder, file));
  // The name of a node differs by machine, so it is in the local file.
  await writeFile(join(folder, ".aegis.local.yaml"), JSON.stringify({ cluster: { node, lease } }));
  await run("aegis", ["trust", "--yes"], { cwd: folder, env });
  const client = await connect(folder, { start: true, env, signal: stopped.signal });
  pids.set(node, (await client.call("status")).pid);
  return client;
}

function signal(node: Node, name: NodeJS.Signals): void {
  const pid = pids.get(node);
  if (pid !== undefined) process.kill(pid, name);
}

/** Asks until the answer is yes. A node that does not answer counts as no. */
async function until(what: string, isDone: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const done = await isDone().catch((error: unknown) => {
      if (isAegisError(error) && error.code === "unavailable") return false;
      throw error;
    });
    if (done) return;
    if (Date.now() > deadline) throw new Error(`${what} did not happen within two minutes`);
    await sleep(100, undefined, { signal: stopped.signal });
  }
}

/** Everything that the cluster has recorded. */
async function eventsOf(client: Client): Promise<Event[]> {
  const events: Event[] = [];
  for (;;) {
    const after = String(events.at(-1)?.seq ?? 0);
    const page = await client.call("listEvents", { query: { after, limit: "1000" } });
    if (page.events.length === 0) return events;
    events.push(...page.events);
  }
}

/** How often each order ended as completed, by its task. */
function packed(events: readonly Event[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const event of events)
    if (event.type === "task.ended" && event.data.status === "completed")
      counts.set(event.data.task, (counts.get(event.data.task) ?? 0) + 1);
  return counts;
}

/** How many completed turns each message was in. */
function answered(events: readonly Event[]): Map<string, number> {
  const turns = new Map<string, readonly string[]>();
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.type === "turn.started") turns.set(event.data.turn, event.data.messages);
    if (event.type !== "turn.ended" || event.data.reason !== "completed") continue;
    for (const id of turns.get(event.data.turn) ?? []) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

try {
  const one = await start("one");
  const two = await start("two");
  const three = await start("three");
  const nodeAt = async (name: Node) => {
    const found = (await three.call("listNodes")).nodes.find((node) => node.name === name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  };
  console.log(`${(await three.call("listNodes")).nodes.length} nodes are up`);

  const tell = async (client: Client, handle: string) => {
    const { session, receipt } = await client.call("createSession", { body: { handle, prompt: "tell a long story" } });
    if (receipt === null) throw new Error(`${handle} did not accept the message`);
    return { session: session.id, message: receipt.message };
  };
  const stories = [await tell(one, "ada"), await tell(two, "grace")];
  for (let number = 1; number <= orders; number += 1) {
    const client = [one, two, three][number % 3] ?? three;
    // An idempotency key: a repeated request adds one task.
    const body = { payload: `pack order ${number}`, key: `order-${number}` };
    await client.call("enqueueTask", { path: { queue: "work" }, body });
  }
  console.log(`2 agents tell stories, ${orders} orders wait in a queue that all nodes serve`);
  await until("a first order", async () => packed(await eventsOf(three)).size > 0);

  signal("one", "SIGKILL");
  await until("the loss of node one", async () => (await nodeAt("one")).state === "lost");
  await until("the move of its session", async () => {
    const { sessions } = await three.call("listSessions");
    return sessions.some(({ id, node }) => id === stories[0]?.session && node !== "one");
  });
  console.log("kill -9 of node one: another node continues its story");
  await start("one");

  const before = (await nodeAt("two")).incarnation;
  signal("two", "SIGSTOP");
  await until("the loss of node two", async () => (await nodeAt("two")).state === "lost");
  signal("two", "SIGCONT");
  await until("the return of node two", async () => {
    const { state, incarnation } = await nodeAt("two");
    return state === "up" && incarnation > before;
  });
  console.log("kill -STOP of node two, then kill -CONT: its late writes are refused, and it joins again");

  await server.restart();
  await until("an answer of node three", async () => (await nodeAt("three")).state === "up");
  console.log("kill -9 of PostgreSQL, and a new start: the nodes wait for it and continue");

  await until("the end of all orders", async () => packed(await eventsOf(three)).size === orders);
  await until("the end of the stories", async () => {
    const told = answered(await eventsOf(three));
    return stories.every(({ message }) => told.has(message));
  });
  const events = await eventsOf(three);
  const told = answered(events);
  const isOnce = [...packed(events).values(), ...stories.map(({ message }) => told.get(message))].every((n) => n === 1);
  const hasGap = events.some(({ seq }, index) => seq !== index + 1);
  if (!isOnce || hasGap) throw new Error("something was done twice, or events are missing");
  console.log(`${orders} orders packed, each once; 2 stories told, each once; no event is missing`);
} finally {
  for (const node of nodes) {
    try {
      signal(node, "SIGCONT");
      await run("aegis", ["down", "--force", "--timeout", "10s"], { cwd: join(root, node), env });
    } catch {
      // It does not run.
    }
  }
  await server.remove();
  await rm(root, { recursive: true, force: true, maxRetries: 5 });
}
