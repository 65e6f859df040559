/** Subagents: how soon one begins, and what a tree of a thousand costs, wide and deep. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Bench, BenchContext } from "../bench.ts";
import { type BenchDaemon, startDaemon } from "../daemon.ts";
import { follow } from "../follow.ts";
import { compareValues, type Figure, figure, median } from "../measure.ts";
import { readMemory } from "../process-use.ts";

/** Per second and kilobytes per session. */
type Grown = { startRate: number; endRate: number; kilobytes: number };

const branches = 10;
const agent = "grower";

export const subagents: Bench = {
  name: "subagents",
  about: "from the spawn of a subagent to its first turn, and trees of 1,000 that all run at once",
  async run(context) {
    const count = context.quick ? 50 : 1_000;
    const plain = await grow(context, "plain", count);
    const wide = await grow(context, "wide", count);
    const deep = await grow(context, "deep", count);
    return [
      await firstTurn(context),
      ...figuresOf(`${count} subagents, wide`, wide, plain),
      ...figuresOf(`${count} subagents, ${branches} chains`, deep, plain),
    ];
  },
};

function figuresOf(name: string, tree: Grown, plain: Grown): Figure[] {
  const against = "plain sessions";
  return [
    figure({ name: `${name}, started`, unit: "/s", against }, compareValues(tree.startRate, plain.startRate)),
    figure({ name: `${name}, ended and told`, unit: "/s", against }, compareValues(tree.endRate, plain.endRate)),
    figure({ name: `${name}, memory each`, unit: "kB", against }, compareValues(tree.kilobytes, plain.kilobytes)),
  ];
}

async function firstTurn(context: BenchContext): Promise<Figure> {
  const daemon = await startTree(context, "first-turn", 1);
  const seen = await follow(daemon.client, context.signal);
  const { session } = await daemon.client.call("createSession", { body: { agent } });
  const rounds = context.quick ? 5 : 40;
  for (let round = 1; round <= rounds; round++) {
    await daemon.client.call("sendMessage", { path: { session: session.id }, body: { text: "wide open" } });
    // Its own, the child's, and the one in which it reads the result.
    await seen.until("turn.ended", 3 * round);
  }
  const started = seen.all("turn.started");
  const children = seen.all("subagent.spawned").map(({ event, at }) => {
    const child = event.type === "subagent.spawned" ? event.data.subagent.session : null;
    const turn = started.find((one) => one.event.session === child);
    return (turn?.at ?? Number.NaN) - at;
  });
  const messages = seen.all("message.admitted").flatMap(({ event, at }) => {
    if (event.type !== "message.admitted" || event.data.message.sender.kind !== "human") return [];
    const turn = started.find((one) => one.event.session === session.id && one.event.seq > event.seq);
    return [(turn?.at ?? Number.NaN) - at];
  });
  const input = { name: "spawn to first turn", unit: "ms", against: "a message to an open session" } as const;
  return figure(input, compareValues(median(children), median(messages)));
}

/** Starts that many at once and lets them end. */
async function grow(context: BenchContext, shape: "plain" | "wide" | "deep", count: number): Promise<Grown> {
  const daemon = await startTree(context, shape, shape === "wide" ? count : branches);
  const seen = await follow(daemon.client, context.signal);
  const before = await readMemory(daemon.file.pid);
  const begin = performance.now();
  const leaves = shape === "deep" ? branches : count;
  if (shape === "plain") for (let made = 0; made < count; made++) await create(daemon, "hold closed");
  if (shape === "wide") await create(daemon, "wide closed");
  if (shape === "deep") await create(daemon, `deep ${"x".repeat(count / branches)} closed`);
  // A leaf says so when it begins to wait.
  await seen.until("turn.text", leaves, (event) => event.type === "turn.text" && event.data.text === "holding");
  const grown = performance.now();
  const after = await readMemory(daemon.file.pid);
  await writeFile(join(daemon.root, "gates", "closed"), "");
  if (shape === "plain") await seen.until("turn.ended", count);
  else await seen.until("subagent.ended", count);
  const over = performance.now();
  return {
    startRate: (count * 1000) / (grown - begin),
    endRate: (count * 1000) / (over - grown),
    kilobytes: ((after.anonMb - before.anonMb) * 1024) / count,
  };
}

async function create({ client }: BenchDaemon, prompt: string): Promise<void> {
  await client.call("createSession", { body: { agent, prompt } });
}

async function startTree(context: BenchContext, name: string, children: number): Promise<BenchDaemon> {
  const config = `
default_agent: ${agent}
agents:
  ${agent}: { harness: scripted, playbook: tree.yaml }
subagents: { max_spawn_depth: 1000, max_children: 2000, default_timeout: 3600, budget: { agents: 5000, spawns: 50000 } }
messages: { max_hops: 5000, max_per_minute: 1000000 }
`;
  const files = { ".aegis.yaml": config, "tree.yaml": playbook(children) };
  const daemon = await startDaemon(context, name, files);
  await mkdir(join(daemon.root, "gates"));
  return daemon;
}

/** `children` are started by each message that begins with wide or deep. */
function playbook(children: number): string {
  const start = (task: string) => `      - { tool: sessions_spawn, input: { task: "${task}" } }\n`;
  return `
rules:
  - name: a result
    from: substrate
    when: always
    steps: [{ say: noted }]
  - name: many at once
    when: '/^wide (\\S+)$/'
    steps:
${start("hold {1}").repeat(children)}
  - name: chains
    when: '/^deep (x+) (\\S+)$/'
    steps:
${start("{1} {2}").repeat(children)}
  - name: the next of a chain
    when: '/^x(x+) (\\S+)$/'
    steps:
${start("{1} {2}")}
  - name: a leaf that does not wait
    when: hold open
    steps: [{ say: noted }]
  - name: a leaf
    when: '/^(?:hold|x) (\\S+)$/'
    steps: [{ say: holding }, { wait: { gate: "gates/{1}" } }, { say: noted }]
`;
}
