/** `aegis demo`: a short tour with the offline agent. It verifies each of its claims over the API and on disk. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { followEvents } from "@aegis/client/events.ts";
import { daemonClient } from "@aegis/client/project/http-fetch.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import type { MessageId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Turn } from "@aegis/contract/turn.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { configFileName, type DaemonFile, inspectDaemonFile, isSameProcess } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { signalProcess } from "../../daemon/daemon-process.ts";
import { startDaemon } from "../../daemon/start-daemon.ts";
import type { Handler } from "../../program/command.ts";
import type { CliContext } from "../../terminal/context.ts";
import { programOutput } from "../../terminal/user-programs.ts";
import { expectThat, playTour, type Tour } from "./demo-tour.ts";
import type { projectCommands } from "./spec.ts";

export const demo: Handler<typeof projectCommands.demo> = async (cx, args) => {
  const next = "Your turn: aegis init, then aegis.";
  await playTour(cx, () => Stage.create(cx), { keep: args.keep, next, play });
};

async function play(tour: Tour, stage: Stage): Promise<void> {
  await tour.step("A project and its daemon", [
    "One daemon per project owns all agents. This one runs the offline agent: it",
    "follows a script, so no model, no key and no network are needed.",
  ]);
  const daemon = await stage.start();
  const status = await stage.client.call("status");
  expectThat(status.offline, "the demo must run on the offline agent");
  tour.show(`${stage.root}`, `daemon ${status.version}, pid ${daemon.pid}, ${daemon.url}`);

  await tour.step("Two agents work at the same time", [
    "The scout lists the files, the counter counts what is left to do.",
  ]);
  const asked = await Promise.all([stage.ask("scout", "list files"), stage.ask("counter", "count todos")]);
  for (const one of asked) tour.say(one.session, await answerOf(stage, one));
  const [files = "", todos = ""] = await Promise.all(asked.map((one) => answerOf(stage, one)));
  expectThat(files.includes("src/oven.ts"), "the scout must have listed src/oven.ts");
  expectThat(/\b3\b/.test(todos), "the counter must have found 3 TODOs");

  await tour.step("One agent hands work to another", [
    "The writer writes a report and hands it to the editor, which starts work on it.",
  ]);
  const { session: editor } = await stage.client.call("createSession", { body: { agent: "editor" } });
  const writer = await stage.ask("writer", `hand the report to ${editor.handle}`);
  tour.say(writer.session, await answerOf(stage, writer));
  const report = await readFile(join(stage.root, "aegis-report.md"), "utf8");
  expectThat(report.includes("src/orders.ts"), "the report on disk must name src/orders.ts");
  tour.say(editor, await answerOf(stage, await handedOver(stage, editor, writer.session)));

  await tour.step("The daemon is killed in the middle of a turn", [
    "The narrator writes a story slowly. Meanwhile the daemon is killed with kill -9.",
  ]);
  const narrator = await stage.ask("narrator", "tell a slow story");
  tour.say(narrator.session, `${await stage.writing(narrator)} ✂`);
  const before = await openHandles(stage);
  const pid = await stage.kill();
  expectThat(!isSameProcess(daemon), `pid ${daemon.pid} must be gone`);
  tour.show(`kill -9 ${pid}: the daemon is gone, without a clean stop.`);

  await tour.step("It comes back with everything", ["A new daemon resumes every session and the interrupted work."]);
  const restarted = await stage.start();
  expectThat(restarted.pid !== pid, "a new process must be running");
  const { sessions } = await stage.client.call("listSessions");
  tour.show(`new daemon, pid ${restarted.pid}`, ...tour.table(sessions));
  const after = await openHandles(stage);
  expectThat(after.join() === before.join(), `the same sessions must be open: ${before.join(", ")}`);
  const story = await answerOf(stage, narrator);
  tour.say(narrator.session, story);
  expectThat(story.includes("The end."), "the story must have been told to its end");

  await tour.step("An agent asks before it writes", [
    "The careful one may not write without approval, so it waits for an answer.",
  ]);
  // Aegis would refuse to overwrite what the writer wrote and the careful one has not read.
  await rm(join(stage.root, "aegis-report.md"));
  const careful = await stage.ask("careful", "write a report");
  const ask = await stage.openAsk(careful);
  tour.show(`? ${ask.question}`, `$ aegis answer ${careful.session.handle} allow`);
  await stage.client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "allow", digest: ask.digest } });
  tour.say(careful.session, await answerOf(stage, careful));

  if (await stage.useGit()) {
    await tour.step("Checked work lands on your branch", [
      "The builder works in a git worktree of its own. Its work is merged once a check succeeded on it.",
    ]);
    const builder = await stage.ask("builder", "write a report");
    tour.say(builder.session, await answerOf(stage, builder));
    const check = "grep -q 'Open work' aegis-report.md";
    const path = { session: builder.session.id };
    const { landing } = await stage.client.call("landSession", { path, body: { check } });
    expectThat(landing.state === "landed", `the work of the builder must land, but it is ${landing.state}`);
    tour.show(
      `$ aegis land ${builder.session.handle} --check "${check}"`,
      `landed on ${landing.target} as ${landing.next?.slice(0, 12)}`,
    );
    await stage.client.call("closeSession", { path });
  }
}

async function answerOf(stage: Stage, asked: Asked): Promise<string> {
  const turn = await stage.answer(asked);
  expectThat(
    turn.reason === "completed",
    `the turn of ${asked.session.handle} must complete, it ended as ${turn.reason}`,
  );
  return turn.text;
}

/** The message from the writer, as recorded by the daemon. */
async function handedOver(stage: Stage, editor: SessionView, writer: SessionView): Promise<Asked> {
  const { messages } = await stage.client.call("listMessages", { path: { session: editor.id } });
  const found = messages.find(({ sender }) => sender.kind === "agent" && sender.session === writer.id);
  if (found === undefined) throw new Error(`nothing from ${writer.handle} arrived at ${editor.handle}`);
  return { session: editor, message: found.id };
}

async function openHandles(stage: Stage): Promise<string[]> {
  const { sessions } = await stage.client.call("listSessions");
  return sessions.map((session) => session.handle).sort();
}

/** The offline agent answers within moments. A longer wait means that something is wrong. */
const answerMs = 30_000;

type Asked = { session: SessionView; message: MessageId };

/** A temporary folder with its own daemon, which can be killed. */
class Stage {
  readonly #cx: CliContext;
  readonly #folder: string;
  readonly root: string;
  readonly goodbye = "The daemon was stopped and the folder was removed.";
  #daemon: DaemonFile | null = null;
  #starting: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  static async create(cx: CliContext): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), "aegis-demo-"));
    const root = join(folder, "bakery");
    for (const [path, text] of Object.entries(sampleProject)) {
      await mkdir(join(root, path, ".."), { recursive: true });
      await writeFile(join(root, path), text);
    }
    return new Stage(cx, folder, root);
  }

  private constructor(cx: CliContext, folder: string, root: string) {
    this.#cx = cx;
    this.#folder = folder;
    this.root = root;
  }

  async start(): Promise<DaemonFile> {
    if (this.#isClosed) throw new Error("the demo has ended");
    // Worktrees are outside a project, so the folder with the project holds them too.
    const env = { ...this.#cx.env, XDG_DATA_HOME: join(this.#folder, "data") };
    const there: CliContext = { ...this.#cx, cwd: this.root, env };
    const starting = startDaemon(there, this.root);
    this.#starting = starting;
    const { file } = await starting;
    this.#daemon = file;
    return file;
  }

  get client(): Client {
    return daemonClient(this.#running());
  }

  /** Starts a session with a first message. */
  async ask(agent: string, prompt: string): Promise<Asked> {
    const { session, receipt } = await this.client.call("createSession", { body: { agent, prompt } });
    if (receipt === null) throw new Error(`${session.handle} took no message`);
    return { session, message: receipt.message };
  }

  async answer({ session, message }: Asked): Promise<Turn> {
    const signal = AbortSignal.timeout(answerMs);
    const outcome = await waitForMessage(this.client, message, session.id, { signal });
    if (outcome.status !== "answered" || outcome.turn === null) {
      throw new Error(`${session.handle} did not answer: its message was ${outcome.status}`);
    }
    return outcome.turn;
  }

  /** Waits until the session asks a person. */
  async openAsk({ session }: Asked): Promise<Ask> {
    const deadline = systemClock.now() + answerMs;
    while (systemClock.now() < deadline) {
      const { asks } = await this.client.call("listAsks", {});
      const found = asks.find((ask) => ask.session === session.id);
      if (found !== undefined) return found;
      await systemClock.sleep(20);
    }
    throw new Error(`${session.handle} asked nothing`);
  }

  /** Makes the folder a git repository with everything committed. Returns false where there is no git. */
  async useGit(): Promise<boolean> {
    const git = (...args: string[]) =>
      programOutput(["git", "-C", this.root, "-c", "user.name=Aegis", "-c", "user.email=demo@localhost", ...args], {
        env: this.#cx.env,
        ms: answerMs,
      });
    if ((await git("init", "-q", "-b", "main")).code !== 0) return false;
    await writeFile(join(this.root, ".gitignore"), ".aegis/\n");
    await git("add", "-A");
    return (await git("commit", "-q", "-m", "The bakery")).code === 0;
  }

  /** Waits until the session has begun to write its answer. */
  async writing({ session }: Asked): Promise<string> {
    const signal = AbortSignal.timeout(answerMs);
    let text = "";
    for await (const item of followEvents(this.client, { after: 0, session: session.id, live: true, signal })) {
      if (item.kind === "delta") text += item.delta.text;
      if (text.length > 60) return text;
      if (item.kind === "event" && item.event.type === "turn.ended") break;
    }
    throw new Error(`${session.handle} ended its turn before it could be interrupted`);
  }

  /** Kills the daemon with SIGKILL and waits until its process is gone. */
  async kill(): Promise<number> {
    const daemon = this.#running();
    signalProcess(daemon.pid, "SIGKILL");
    const deadline = systemClock.now() + 5_000;
    while (isSameProcess(daemon)) {
      if (systemClock.now() > deadline) throw new Error(`pid ${daemon.pid} survived SIGKILL`);
      await systemClock.sleep(10);
    }
    this.#daemon = null;
    return daemon.pid;
  }

  /** Ends the daemon in every case, and removes the folder unless `keep` is set. */
  async close(keep: boolean): Promise<void> {
    this.#isClosed = true;
    await this.#starting.catch(() => {});
    const found = await inspectDaemonFile(this.root, homeOf(this.#cx.env));
    if (found.state === "live") {
      await daemonClient(found.file)
        .call("shutdown", { body: { force: true } })
        .catch(() => {});
      const deadline = systemClock.now() + 10_000;
      while (isSameProcess(found.file) && systemClock.now() < deadline) await systemClock.sleep(20);
      if (isSameProcess(found.file)) signalProcess(found.file.pid, "SIGKILL");
    }
    if (!keep) await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #running(): DaemonFile {
    if (this.#daemon === null) throw new Error("the daemon is not running");
    return this.#daemon;
  }
}

const roles: Readonly<Record<string, string>> = {
  scout: "Looks around in the project.",
  counter: "Counts what is left to do.",
  writer: "Writes reports and hands them on.",
  editor: "Reads what the others write.",
  narrator: "Takes its time.",
  careful: "Asks before it writes.",
  builder: "Works in a worktree of its own.",
};

/** What differs from an agent that writes in the project's folder. */
const rights: Readonly<Record<string, readonly string[]>> = {
  careful: ["    permission: auto"],
  builder: ["    permission: write", "    isolation: worktree"],
};

const sampleProject: Readonly<Record<string, string>> = {
  [configFileName]: [
    "default_agent: scout",
    "agents:",
    ...Object.entries(roles).flatMap(([name, description]) => [
      `  ${name}:`,
      "    harness: scripted",
      ...(rights[name] ?? ["    permission: write"]),
      `    description: ${description}`,
    ]),
    "",
  ].join("\n"),
  "README.md": "# Bakery\n\nTakes orders and bakes bread.\n",
  "src/orders.ts": [
    "// TODO: refuse orders for more bread than there is",
    "export type Order = { bread: string; count: number };",
    "",
    "export function total(orders: readonly Order[]): number {",
    "  // TODO: leave out cancelled orders",
    "  return orders.reduce((sum, order) => sum + order.count, 0);",
    "}",
    "",
  ].join("\n"),
  "src/oven.ts": ["// TODO: heat it slowly", "export const degrees = 230;", ""].join("\n"),
};
