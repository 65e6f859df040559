/** One node: a daemon process with its own folder, clock and network. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@aegis/client/client.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { databaseVariable } from "../../test/helpers/cluster.ts";
import { type ChaosDaemon, endDaemons, startDaemon } from "../daemon.ts";
import { writeProject } from "../project.ts";
import type { Random } from "../random.ts";
import { type Disk, type Fill, mountDisk } from "./disk.ts";

const clock = fileURLToPath(new URL("clock.mjs", import.meta.url));
/** How long a caller waits for a node that may be frozen. */
const answerMs = 3_000;
const patientMs = 120_000;

export type NodeOptions = {
  name: string;
  /** The folder that all nodes share. */
  base: string;
  files: Readonly<Record<string, string>>;
  /** Where it finds its database. */
  url: string;
  cluster: Readonly<Record<string, unknown>>;
  /** The size of a disk of its own. Without it, its files are on the disk of this machine. */
  diskMb?: number;
};

export class ChaosNode {
  readonly name: string;
  readonly folder: string;
  readonly #url: string;
  #daemon: ChaosDaemon | null = null;
  #hasExited = true;
  readonly #disk: Disk | null;
  #endings: string[] = [];
  #starting: Promise<void> = Promise.resolve();
  #isClosed = false;

  static async create({ name, base, files, url, cluster, diskMb }: NodeOptions): Promise<ChaosNode> {
    const folder = join(base, name);
    await mkdir(folder);
    const disk = diskMb === undefined ? null : mountDisk(folder, diskMb);
    const database = `\${${databaseVariable}}`;
    const local = JSON.stringify({ cluster: { database, project: "chaos", node: name, ...cluster } });
    await writeProject(folder, { ...files, ".aegis.local.yaml": local }, base);
    const node = new ChaosNode(name, folder, url, disk);
    await node.setClock(0);
    return node;
  }

  private constructor(name: string, folder: string, url: string, disk: Disk | null) {
    this.#disk = disk;
    this.name = name;
    this.folder = folder;
    this.#url = url;
  }

  get isRunning(): boolean {
    return !this.#hasExited;
  }

  /** Fills the disk of its files. Null without a disk of its own. */
  get fill(): Fill | null {
    return this.#disk?.fill ?? null;
  }

  /** How it ended by itself since this was asked last: exit codes or signals. */
  takeEndings(): string[] {
    return this.#endings.splice(0);
  }

  /** Starts it if it does not run. */
  ensure(): Promise<void> {
    this.#starting = this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    if (this.#isClosed) throw new Error(`node ${this.name} is closed`);
    if (!this.#hasExited) return;
    const daemon = await startDaemon(this.folder, {
      [databaseVariable]: this.#url,
      NODE_OPTIONS: `--import=${clock}`,
      AEGIS_CHAOS_CLOCK: this.#clockFile,
    });
    this.#daemon = daemon;
    this.#hasExited = false;
    void daemon.exited.then((how) => {
      if (this.#daemon !== daemon) return;
      this.#hasExited = true;
      this.#endings.push(how);
    });
  }

  async kill(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = null;
    this.#hasExited = true;
    await daemon?.kill();
  }

  /** Ends it for good, also while it starts. Its files are left if they shall be kept. */
  async close(keep: boolean): Promise<void> {
    this.#isClosed = true;
    this.signal("SIGCONT");
    await this.kill();
    endDaemons(this.folder);
    await this.#starting.catch(() => {});
    await this.kill();
    endDaemons(this.folder);
    await this.#disk?.remove(keep);
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    if (this.#daemon !== null && !this.#hasExited) process.kill(this.#daemon.pid, signal);
  }

  /** Its daemon sees this within moments. */
  setClock(aheadMs: number): Promise<void> {
    return writeFile(this.#clockFile, String(aheadMs));
  }

  /** The address changes when the node joins again. */
  async client(): Promise<Client> {
    const found = await inspectDaemonFile(this.folder, this.folder);
    if (found.state !== "live") throw new AegisError("unavailable", `node ${this.name} does not run`);
    return createClient(found.file);
  }

  get #clockFile(): string {
    return join(this.folder, "clock");
  }
}

/**
 * Calls another node each time, as users at several machines do. A node that does not answer, whose database is full or
 * that was fenced during a commit counts as one that is gone: the caller does not know what became of the call.
 */
export function anyNode(nodes: readonly ChaosNode[], random: Random, waitMs = answerMs): Client {
  const use = async <T>(work: (client: Client, signal: AbortSignal) => Promise<T>): Promise<T> => {
    const running = nodes.filter(({ isRunning }) => isRunning);
    if (running.length === 0) throw new AegisError("unavailable", "no node runs");
    const node = random.pick(running);
    const timeout = AbortSignal.timeout(waitMs);
    try {
      return await work(await node.client(), timeout);
    } catch (error) {
      if (timeout.aborted) throw new AegisError("unavailable", `node ${node.name} did not answer`, { cause: error });
      if (error instanceof AegisError && isUnknown(error))
        throw new AegisError("unavailable", error.message, { cause: error });
      throw error;
    }
  };
  return calling(use);
}

/** A full database, or a node that was fenced before its database could tell what became of a commit. */
function isUnknown({ code, message }: AegisError): boolean {
  return code === "storage_full" || (code === "internal" && message.includes("tell the outcome"));
}

/** Calls nodes until one answers: for the checker, at a time when nothing goes wrong any more. */
export function patiently(nodes: readonly ChaosNode[], random: Random): Client {
  const once = anyNode(nodes, random, patientMs);
  const use = async <T>(work: (client: Client, signal: AbortSignal) => Promise<T>): Promise<T> => {
    const deadline = AbortSignal.timeout(patientMs);
    for (;;) {
      try {
        return await work(once, deadline);
      } catch (error) {
        if (deadline.aborted || !(error instanceof AegisError) || error.code !== "unavailable") throw error;
        await delay(100);
      }
    }
  };
  return calling(use);
}

function calling(use: <T>(work: (client: Client, signal: AbortSignal) => Promise<T>) => Promise<T>): Client {
  const within = (signal: AbortSignal | undefined, timeout: AbortSignal) =>
    signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  return {
    url: "any node",
    call: (name, ...[input]) =>
      use((client, timeout) => client.call(name, ...([{ ...input, signal: within(input?.signal, timeout) }] as never))),
    open: (name, ...[input]) =>
      use((client, timeout) => client.open(name, ...([{ ...input, signal: within(input?.signal, timeout) }] as never))),
  };
}
