/** The terminal app on a pseudo-terminal, against a bare pi-tui program that draws as many rows from memory. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SessionId } from "@aegis/contract/ids.ts";
import { isSameProcess } from "@aegis/lib/daemon-file.ts";
import { spawn } from "@lydell/node-pty";
import { addConversation } from "../../test/helpers/long-conversation.ts";
import type { Bench, BenchContext } from "../bench.ts";
import { type BenchDaemon, createSessions, startDaemon } from "../daemon.ts";
import { compareValues, figure, median } from "../measure.ts";
import { readCpuSeconds, readMemory } from "../process-use.ts";

const columns = 200;
const rows = 60;
const parked = 50;
const longEvents = 100_000;
const shortEvents = 100;
/** 200 lines a second: one line every 5 ms. */
const streamPlaybook = `
rules:
  - name: stream
    when: /^stream/
    steps:
      - stream: ${JSON.stringify(Array.from({ length: 2_000 }, (_, index) => `${index} word and more text that goes on\n${index % 20 === 19 ? "\n" : ""}`).join(""))}
        chunk: 38
        delay: 5
  - name: anything
    when: always
    steps: [{ say: "noted" }]
`;

type Program = { pid: number; write(text: string): void; readonly bytes: number; shows(text: string): Promise<number> };

export const tui: Bench = {
  name: "tui",
  about: "processor, memory and echo of the terminal app, against a bare pi-tui program with as many rows",
  async run(context) {
    const daemon = await startDaemon(context, "project", { "parrot.yaml": streamPlaybook });
    const ids = await createSessions(daemon, parked);
    await addLongConversations(daemon, ids, context);
    const app = openProgram(context, [join(context.dist, "cli.js")], daemon.root, daemon.env);
    const bareFile = fileURLToPath(new URL("../bare/tui.ts", import.meta.url));
    const bare = openProgram(context, [bareFile], daemon.root, daemon.env);
    const [startMs, bareStartMs] = await Promise.all([app.shows("live"), bare.shows("live")]);
    // Some seconds after the start, the garbage of the start is collected once.
    const idle = await useOf([app, bare], context.quick ? 2_000 : 20_000, context.quick ? 500 : 10_000);
    const stream = await streamOf([app, bare], context.quick ? 3_000 : 9_000);
    const [long, short] = await opensOf(app, context.quick ? 3 : 10);
    const [idleApp, idleBare] = idle;
    const [streamApp, streamBare] = stream;
    if (!idleApp || !idleBare || !streamApp || !streamBare || !long || !short)
      throw new Error("both programs were watched");
    const against = "bare pi-tui";
    const memory = await Promise.all([app, bare].map(({ pid }) => readMemory(pid)));
    return [
      figure({ name: "tui, start to first screen", unit: "ms", against }, compareValues(startMs, bareStartMs)),
      figure(
        { name: `tui, ${parked} idle sessions, bytes written`, unit: "", against },
        compareValues(idleApp.bytes, idleBare.bytes),
        { valueBelow: 1 },
      ),
      figure(
        { name: `tui, ${parked} idle sessions, processor`, unit: "% CPU", against },
        compareValues(idleApp.cpu, idleBare.cpu),
        { valueBelow: 0.3 },
      ),
      figure(
        { name: "tui, 200 lines/s, processor", unit: "% CPU", against },
        compareValues(streamApp.cpu, streamBare.cpu),
        { valueBelow: 15 },
      ),
      figure(
        { name: "tui, 200 lines/s, echo of a key, p99", unit: "ms", against },
        compareValues(streamApp.echo, streamBare.echo),
        { valueBelow: 30 },
      ),
      figure(
        { name: `tui, open a conversation of ${longEvents} events`, unit: "ms", against: `${shortEvents} events` },
        compareValues(long.open, short.open),
        { valueBelow: 150 },
      ),
      figure(
        { name: `tui, switch to a conversation of ${longEvents} events`, unit: "ms", against: `${shortEvents} events` },
        compareValues(long.again, short.again),
        { valueBelow: 150 },
      ),
      figure(
        { name: "tui, memory after that", unit: "MB", against },
        compareValues(memory[0]?.rssMb ?? 0, memory[1]?.rssMb ?? 0),
        { valueBelow: 150 },
      ),
    ];
  },
};

function openProgram({ scope }: BenchContext, args: string[], cwd: string, env: NodeJS.ProcessEnv): Program {
  const begun = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    cols: columns,
    rows,
    name: "xterm-256color",
    env: { ...env, TERM: "xterm-256color", LANG: "C.UTF-8" } as Record<string, string>,
  });
  let output = "";
  let over = false;
  child.onData((data) => {
    output += data;
  });
  const ended = new Promise<void>((resolve) => {
    child.onExit(() => {
      over = true;
      resolve();
    });
  });
  scope.defer(async () => {
    if (!over) child.kill("SIGTERM");
    await ended;
  });
  return {
    pid: child.pid,
    write: (text) => child.write(text),
    get bytes() {
      return output.length;
    },
    /** Resolves with the time since the call, or since the start for the first screen. */
    async shows(text) {
      const from = output.length === 0 ? begun : performance.now();
      const offset = output.length;
      while (!output.includes(text, offset)) {
        if (over || performance.now() - from > 30_000) throw new Error(`the program never showed ${text}`);
        await delay(1);
      }
      return performance.now() - from;
    },
  };
}

/** The first two sessions get a long and a short conversation; the database may change only while no daemon has it. */
async function addLongConversations(daemon: BenchDaemon, ids: readonly SessionId[], { dist }: BenchContext) {
  process.kill(daemon.file.pid, "SIGKILL");
  while (isSameProcess(daemon.file)) await delay(10);
  for (const [index, events] of [longEvents, shortEvents].entries())
    addConversation(daemon.root, ids[index] ?? "", events);
  await promisify(execFile)(process.execPath, [join(dist, "cli.js"), "up"], { cwd: daemon.root, env: daemon.env });
}

/** From the key to the row that ends the conversation: the first time, and the median of later times. */
async function opensOf(app: Program, times: number): Promise<{ open: number; again: number }[]> {
  const found = [longEvents, shortEvents].map((events) => ({ events, ms: [] as number[] }));
  for (let round = 0; round <= times; round++) {
    for (const [index, { events, ms }] of found.entries()) {
      const shown = app.shows(`text ${events - 2} of`);
      app.write(`\u001b${index + 1}`);
      ms.push(await shown);
    }
  }
  return found.map(({ ms: [open = 0, ...again] }) => ({ open, again: median(again) }));
}

type Use = { cpu: number; bytes: number };

/** Both in the same seconds, so that they see the same machine. */
async function useOf(programs: readonly Program[], ms: number, settleMs: number): Promise<Use[]> {
  await delay(settleMs);
  const before = await Promise.all(programs.map(({ pid }) => readCpuSeconds(pid)));
  const written = programs.map(({ bytes }) => bytes);
  await delay(ms);
  const after = await Promise.all(programs.map(({ pid }) => readCpuSeconds(pid)));
  return programs.map(({ bytes }, index) => ({
    cpu: (((after[index] ?? 0) - (before[index] ?? 0)) * 100_000) / ms,
    bytes: bytes - (written[index] ?? 0),
  }));
}

const everyMs = 97;

async function streamOf(programs: readonly Program[], ms: number): Promise<{ cpu: number; echo: number }[]> {
  const found: { cpu: number; echo: number }[] = [];
  for (const program of programs) {
    program.write("stream");
    await program.shows("stream");
    program.write("\r");
    await program.shows("word");
    const cpu = await readCpuSeconds(program.pid);
    const begun = performance.now();
    const echoes: number[] = [];
    for (let index = 0; performance.now() - begun < ms; index++) {
      // Rare characters, so that the text of the stream does not contain them.
      const mark = String.fromCodePoint(0x4e00 + index);
      const shown = program.shows(mark);
      program.write(mark);
      echoes.push(await shown);
      await delay(everyMs);
    }
    const used = (await readCpuSeconds(program.pid)) - cpu;
    echoes.sort((a, b) => a - b);
    found.push({
      cpu: (used * 100_000) / (performance.now() - begun),
      echo: echoes[Math.floor(echoes.length * 0.99)] ?? 0,
    });
  }
  return found;
}
