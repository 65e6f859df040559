/**
 * Agents that work in parallel in worktrees and land through the merge queue, each of them again and again. Each piece of
 * work is two files that belong together, and a change of a file that the agent changes with every piece. What counts is
 * what git shows afterwards: every commit of the branch has both files of each piece or neither, and the branch has
 * everything that was landed, as it was written.
 */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@aegis/client/client.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import type { Event } from "@aegis/contract/event.ts";
import { type MessageId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { LandHow } from "@aegis/contract/landing.ts";
import type { Finding } from "./check.ts";
import { throwUnlessGone } from "./load.ts";
import { type Checked, goOn, type Scenario, untilIdle, type Work } from "./scenario.ts";

const run = promisify(execFile);
const branch = "main";
const folders = ["left", "right", "last"] as const;
/** What a landing must never break: the files of a piece come together. */
const check = 'for file in left/*; do test -f "right/$(basename "$file")" || exit 1; done';

/** A piece of work: an agent writes it, and then it lands. */
type Piece = { name: string; message: MessageId; isWritten: boolean; isLanded: boolean };

type Worker = { session: SessionId; handle: string; how: LandHow; piece: Piece; landed: Piece[] };

const ways: readonly LandHow[] = ["squash", "merge", "rebase"];
const fewestPieces = 3;

export class Landings implements Scenario {
  readonly files = {
    ".gitignore": [
      "*",
      ...folders.flatMap((name) => [`!/${name}/`, `!/${name}/**`]),
      "!/lander.yaml",
      "!/.gitignore",
      "",
    ].join("\n"),
    "lander.yaml": JSON.stringify({
      rules: [
        {
          name: "write a piece",
          when: "/^piece (\\S+) of (\\S+)/m",
          steps: folders.map((folder) => ({
            tool: "write_report",
            input: { path: `${folder}/${folder === "last" ? "{2}" : "{1}"}.md`, text: "{1}\n" },
          })),
        },
        { name: "anything else", when: "always", steps: [{ say: "yes" }] },
      ],
    }),
    ".aegis/agents/lander.yaml": JSON.stringify({
      harness: "scripted",
      permission: "write",
      playbook: "lander.yaml",
      isolation: "worktree",
    }),
  };
  /** A turn in a worktree and a landing take many git processes. */
  readonly lifeMs = 8_000;
  readonly #agents: number;
  readonly #workers: Worker[] = [];
  #project = "";
  #restored = 0;

  constructor(agents: number) {
    this.#agents = agents;
  }

  async arrange(project: string): Promise<void> {
    this.#project = project;
    await this.#git("init", "-q", "-b", branch);
    for (const side of folders) {
      await run("mkdir", ["-p", join(project, side)]);
      await writeFile(join(project, side, "start.md"), "start\n");
    }
    await this.#git("add", "-A");
    await this.#git("commit", "-q", "-m", "Start");
  }

  async prepare(client: Client): Promise<void> {
    for (let index = 0; index < this.#agents; index++) {
      const handle = `lander-${index}`;
      const { session } = await client.call("createSession", { body: { agent: "lander", handle } });
      const how = ways[index % ways.length] ?? "squash";
      this.#workers.push({ session: session.id, handle, how, piece: freshPiece(), landed: [] });
    }
  }

  load(client: Client): Work {
    return goOn((signal) =>
      Promise.all(
        this.#workers.map(async (worker) => {
          while (!signal.aborted && (await this.#goOn(client, worker, signal))) worker.piece = freshPiece();
        }),
      ),
    );
  }

  async finish(client: Client): Promise<void> {
    const never = new AbortController().signal;
    await Promise.all(
      this.#workers.map(async (worker) => {
        while ((await this.#goOn(client, worker, never)) && worker.landed.length < fewestPieces)
          worker.piece = freshPiece();
      }),
    );
  }

  drained(client: Client): Promise<void> {
    return untilIdle(client);
  }

  async check(events: readonly Event[]): Promise<Checked> {
    const commits = (await this.#git("rev-list", branch)).split("\n");
    const findings: Finding[] = [];
    for (const commit of commits) {
      const files = new Set((await this.#git("ls-tree", "-r", "--name-only", commit)).split("\n"));
      const halves = [...files].filter((file) => file.startsWith("left/") && !files.has(file.replace("left", "right")));
      for (const file of halves) findings.push({ kind: "different", what: `${commit} has only ${file}` });
    }
    for (const { handle, landed } of this.#workers) {
      const files = landed.flatMap(({ name }) => [
        [`left/${name}.md`, name] as const,
        [`right/${name}.md`, name] as const,
      ]);
      for (const [file, name] of [...files, [`last/${handle}.md`, landed.at(-1)?.name] as const]) {
        const text = await this.#git("show", `${branch}:${file}`).catch(() => null);
        if (text !== name) findings.push({ kind: "lost", what: `${file} on ${branch}: ${text} instead of ${name}` });
      }
    }
    const touched = (await this.#git("log", "--format=", "--name-only", branch)).split("\n");
    for (const [file, times] of Map.groupBy(touched, (path) => path))
      if (file !== "" && !file.startsWith("last/") && times.length > 1)
        findings.push({ kind: "doubled", what: `${file}: ${times.length} commits` });
    await this.#git("fsck", "--strict", "--no-dangling");
    const dirty = await this.#git("status", "--porcelain");
    if (dirty !== "") findings.push({ kind: "different", what: `the checkout differs from ${branch}: ${dirty}` });
    const ended = events.filter(({ type, data }) => type === "land.ended" && data.state === "landed").length;
    return {
      findings,
      counts: {
        "landed pieces": this.#pieces,
        "most pieces of one agent": Math.max(...this.#workers.map(({ landed }) => landed.length)),
        "fewest pieces of one agent": Math.min(...this.#workers.map(({ landed }) => landed.length)),
        "landings that moved the branch": ended,
        "commits of the branch": commits.length,
        "checkouts that a person restored": this.#restored,
      },
    };
  }

  progress(): string {
    return `${this.#pieces} landed pieces`;
  }

  get #pieces(): number {
    return this.#workers.reduce((sum, { landed }) => sum + landed.length, 0);
  }

  /** Brings the piece of a worker to its end, from where it is. False if the daemon died or the load ends. */
  async #goOn(client: Client, worker: Worker, signal: AbortSignal): Promise<boolean> {
    const { session, handle, how, piece, landed } = worker;
    try {
      if (!piece.isWritten) {
        const body = { id: piece.message, text: `piece ${piece.name} of ${handle}` };
        await client.call("sendMessage", { path: { session }, body, signal });
        const outcome = await waitForMessage(client, piece.message, session, { signal });
        const turn = outcome.status === "answered" ? outcome.turn : null;
        if (turn?.reason !== "completed")
          throw new Error(`the message to ${handle} is ${outcome.status}: ${turn?.reason} ${turn?.error?.message}`);
        piece.isWritten = true;
      }
      while (!piece.isLanded) {
        const { landing } = await client.call("landSession", { path: { session }, body: { how, check }, signal });
        const { state, detail } = landing;
        // A landing that a killed daemon began may have brought the piece to the branch.
        piece.isLanded = state === "landed" || state === "nothing";
        if (state === "waiting") await this.#restore();
        else if (!piece.isLanded) throw new Error(`${handle}: the landing is ${state}: ${detail}`);
      }
      if (!landed.includes(piece)) landed.push(piece);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      throwUnlessGone(error);
      return false;
    }
  }

  /** What the documentation tells a person to do after a kill that interrupted git itself. */
  async #restore(): Promise<void> {
    this.#restored += 1;
    await this.#git("restore", "--staged", "--worktree", ".");
    await this.#git("clean", "-fdq");
  }

  async #git(...args: string[]): Promise<string> {
    const names = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    const env = { PATH: process.env.PATH ?? "", HOME: this.#project, GIT_CONFIG_NOSYSTEM: "1" };
    const { stdout } = await run("git", [...names, ...args], { cwd: this.#project, env, maxBuffer: 1 << 28 });
    return stdout.trimEnd();
  }
}

function freshPiece(): Piece {
  const message = newId("msg", Date.now());
  return { name: message.slice(4), message, isWritten: false, isLanded: false };
}
