/** The demo's project: a temporary folder with its own daemon, which can be killed. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client } from "../../../client/client.ts";
import { followEvents } from "../../../client/events.ts";
import { daemonClient } from "../../../client/project/http-fetch.ts";
import { waitForMessage } from "../../../client/wait.ts";
import type { MessageId } from "../../../contract/ids.ts";
import type { SessionView } from "../../../contract/session.ts";
import type { Turn } from "../../../contract/turn.ts";
import { systemClock } from "../../../lib/clock.ts";
import { configFileName, type DaemonFile, inspectDaemonFile, isSameProcess } from "../../../lib/daemon-file.ts";
import { homeOf } from "../../../lib/home.ts";
import { signalProcess } from "../../daemon/daemon-process.ts";
import { startDaemon } from "../../daemon/start-daemon.ts";
import type { CliContext } from "../../terminal/context.ts";

/** The offline agent answers within moments. A longer wait means that something is wrong. */
const answerMs = 30_000;

export type Asked = { session: SessionView; message: MessageId };

export class Stage {
  readonly #cx: CliContext;
  readonly root: string;
  readonly goodbye = "The daemon was stopped and the folder was removed.";
  #daemon: DaemonFile | null = null;

  static async create(cx: CliContext): Promise<Stage> {
    const root = await mkdtemp(join(tmpdir(), "aegis-demo-"));
    for (const [path, text] of Object.entries(sampleProject)) {
      await mkdir(join(root, path, ".."), { recursive: true });
      await writeFile(join(root, path), text);
    }
    return new Stage(cx, root);
  }

  private constructor(cx: CliContext, root: string) {
    this.#cx = cx;
    this.root = root;
  }

  async start(): Promise<DaemonFile> {
    const { file } = await startDaemon({ ...this.#cx, cwd: this.root }, this.root);
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
    const found = await inspectDaemonFile(this.root, homeOf(this.#cx.env));
    if (found.state === "live") {
      await daemonClient(found.file)
        .call("shutdown", { body: { force: true } })
        .catch(() => {});
      const deadline = systemClock.now() + 10_000;
      while (isSameProcess(found.file) && systemClock.now() < deadline) await systemClock.sleep(20);
      if (isSameProcess(found.file)) signalProcess(found.file.pid, "SIGKILL");
    }
    if (!keep) await rm(this.root, { recursive: true, force: true, maxRetries: 3 });
  }

  #running(): DaemonFile {
    if (this.#daemon === null) throw new Error("the daemon is not running");
    return this.#daemon;
  }
}

const roles = {
  scout: "Looks around in the project.",
  counter: "Counts what is left to do.",
  writer: "Writes reports and hands them on.",
  editor: "Reads what the others write.",
  narrator: "Takes its time.",
};

const sampleProject: Readonly<Record<string, string>> = {
  [configFileName]: [
    "default_agent: scout",
    "agents:",
    ...Object.entries(roles).flatMap(([name, description]) => [
      `  ${name}:`,
      "    harness: scripted",
      "    permission: write",
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
