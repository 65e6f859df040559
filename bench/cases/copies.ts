/** Working copies of a large repository: creating a worktree, and the changes of a turn, against git itself. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Event, EventType } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Bench } from "../bench.ts";
import { type BenchDaemon, startDaemon } from "../daemon.ts";
import { compareRounds, elapsed, figure, interleave } from "../measure.ts";

const playbook = `
rules:
  - { name: write, when: '/^write (.+)/', steps: [{ tool: write_report, input: { path: notes.md, text: "{1}" } }] }
  - { name: hold, when: '/^hold/', steps: [{ tool: write_report, input: { path: held.md, text: "x" } }, { wait: { gate: gate } }] }
  - { name: anything, when: always, steps: [{ say: noted }] }
`;
const config = `
default_agent: dev
agents:
  dev: { harness: scripted, permission: write, playbook: playbook.yaml }
`;
const filesPerFolder = 100;
const longestMs = 300;

export const copies: Bench = {
  name: "copies",
  about: "a worktree of a large repository against `git worktree add`; the changes of a turn against `git status`",
  async run(context) {
    const { quick, folder, signal } = context;
    const files = { ".aegis.yaml": config, "playbook.yaml": playbook, ".gitignore": ".aegis/\n.local/\n" };
    const daemon = await startDaemon(context, "project", files);
    const { root, env } = daemon;
    const run = promisify(execFile);
    const git = (...args: string[]) => run("git", ["-C", root, ...args], { env, signal, maxBuffer: 1 << 28 });
    await fill(root, quick ? 5_000 : 50_000);
    await git("init", "-q", "-b", "main");
    await git("add", "-A");
    await git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "start");
    let made = 0;
    const created = await interleave(
      {
        aegis: () => worktree(daemon, `w${made++}`),
        git: () => {
          const name = `g${made++}`;
          return elapsed(() => git("worktree", "add", "-q", "-b", name, join(folder, name)));
        },
      },
      quick ? 3 : 5,
      signal,
    );
    const { id } = await session(daemon, "write one");
    const held = await session(daemon, "hold");
    await seen(daemon, id, "turn.ended");
    await seen(daemon, held.id, "turn.tool_result");
    const changes = (of: SessionId) => elapsed(() => daemon.client.call("getChanges", { path: { session: of } }));
    const command = [join(context.dist, "cli.js"), "changes", id, "--stat"];
    const times = await interleave(
      {
        git: () => elapsed(() => git("status", "--porcelain")),
        ended: () => changes(id),
        running: () => changes(held.id),
        cli: () => elapsed(() => run(process.execPath, command, { cwd: root, env, signal })),
      },
      quick ? 5 : 15,
      signal,
    );
    const status = { unit: "ms", against: "git status" } as const;
    const goal = { valueBelow: longestMs };
    return [
      figure(
        { name: "create a worktree", unit: "ms", against: "git worktree add" },
        compareRounds(created.aegis, created.git),
        { ratioAtMost: 1.3 },
      ),
      figure({ name: "changes of an ended turn", ...status }, compareRounds(times.ended, times.git), goal),
      figure({ name: "changes of a running turn", ...status }, compareRounds(times.running, times.git), goal),
      figure({ name: "aegis changes --stat", ...status }, compareRounds(times.cli, times.git), goal),
    ];
  },
};

async function fill(root: string, count: number): Promise<void> {
  for (let first = 0; first < count; first += filesPerFolder) {
    const folder = join(root, `d${first / filesPerFolder}`);
    await mkdir(folder);
    const names = Array.from({ length: filesPerFolder }, (_, index) => join(folder, `f${index}.txt`));
    await Promise.all(names.map((path) => writeFile(path, `${path}\n`)));
  }
}

async function session({ client }: BenchDaemon, prompt: string, isolation: "none" | "worktree" = "none") {
  return (await client.call("createSession", { body: { prompt, isolation } })).session;
}

/** The time from the start of the turn, when nothing of the worktree exists, until it is ready. */
async function worktree(daemon: BenchDaemon, prompt: string): Promise<number> {
  const { id } = await session(daemon, prompt, "worktree");
  const ready = await seen(daemon, id, "worktree.ready");
  const started = await seen(daemon, id, "turn.started");
  // Its first turn is over before something else is measured.
  await seen(daemon, id, "turn.ended");
  return ready.at - started.at;
}

async function seen({ client }: BenchDaemon, id: SessionId, type: EventType): Promise<Event> {
  for (;;) {
    const { events } = await client.call("history", { path: { session: id } });
    const found = events.find((event) => event.type === type);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
