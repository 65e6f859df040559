/** The stage of the cluster's demo: a PostgreSQL server and three nodes, each with a folder of its own. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "../../../client/client.ts";
import { AegisError } from "../../../contract/errors.ts";
import type { Event } from "../../../contract/event.ts";
import { systemClock } from "../../../lib/clock.ts";
import { configFileName, type DaemonFile, inspectDaemonFile, isSameProcess } from "../../../lib/daemon-file.ts";
import { signalProcess } from "../../daemon/daemon-process.ts";
import { startDaemon } from "../../daemon/start-daemon.ts";
import type { CliContext } from "../../terminal/context.ts";
import { DemoPostgres, findPostgres } from "./demo-postgres.ts";

export const nodeNames = ["one", "two", "three"] as const;
export type NodeName = (typeof nodeNames)[number];

/** Long enough for a slow machine, short enough for people who watch. */
export const leaseSeconds = 4;
const databaseVariable = "AEGIS_DATABASE_URL";
/** A busy machine may take this long for a step. */
const stepMs = 120_000;
const lookMs = 100;

export class ClusterStage {
  readonly root: string;
  readonly server: DemoPostgres;
  readonly goodbye = "The nodes and the server were stopped and the folder was removed.";
  readonly #cx: CliContext;

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
    const folder = this.#folder(node);
    const { env } = this.#cx;
    await mkdir(folder, { recursive: true });
    for (const [path, text] of Object.entries(filesOf(node))) await writeFile(join(folder, path), text);
    const { agreeAlways } = await import("../../../project/trust/agree.ts");
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
    for (const node of nodeNames) {
      const file = await this.#file(node).catch(() => null);
      if (file === null) continue;
      signalProcess(file.pid, "SIGCONT");
      await createClient(file)
        .call("shutdown", { body: { force: true }, signal: AbortSignal.timeout(5_000) })
        .catch(() => {});
      const deadline = performance.now() + 10_000;
      while (isSameProcess(file) && performance.now() < deadline) await systemClock.sleep(20);
      if (isSameProcess(file)) signalProcess(file.pid, "SIGKILL");
    }
    await this.server.remove();
    if (!keep) await rm(this.root, { recursive: true, force: true, maxRetries: 5 });
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
