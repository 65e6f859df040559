/**
 * Writes tool calls to greppable files, one call per line: `<tool>.jsonl`. The files are derived from the event log and
 * never read back. Calls are written in log order, so the newest line of all files shows how far they are written; the
 * same code path handles new calls and repairs after a crash, a full disk or a deleted folder. A large file is rotated,
 * and one old file is kept.
 */
import { open, readdir, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Event } from "@aegis/contract/event.ts";
import { isErrno, makePrivateDirsBelow } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { type Redact, redactedLine } from "@aegis/lib/redact.ts";
import type { Store } from "@aegis/store/store.ts";
import { Follower } from "./follower.ts";
import { repairTail } from "./jsonl-tail.ts";
import type { Mirror } from "./mirror.ts";

export type ToolMirrorOptions = {
  store: Pick<Store, "onCommit"> & { read: Pick<Store["read"], "events"> };
  /** Created if it is missing, but not its parent folders: a deleted project must stay deleted. */
  dir: string;
  redact: Redact;
  log: Logger;
  maxBytes?: number;
};

type Call = Extract<Event, { type: "tool.called" }>;

const defaultMaxBytes = 8 * 1024 * 1024;
/** Calls per read of the log. */
const pageSize = 200;
/** An agent can invent tool names. Names that are not valid file names, and names beyond the limit, share one file. */
const fileName = /^[\w-]{1,64}$/;
const maxFiles = 500;
const otherTools = "other";

export async function createToolMirror(options: ToolMirrorOptions): Promise<Mirror> {
  const mirror = new ToolMirror(options);
  mirror.start();
  return mirror;
}

class ToolMirror implements Mirror {
  readonly #options: ToolMirrorOptions;
  /** The sizes of the files being written. */
  readonly #sizes = new Map<string, number>();
  /** The seq of the last written call; null if it must be read from the files. */
  #written: number | null = null;
  #news = true;
  readonly #follower: Follower;
  #failing = false;

  constructor(options: ToolMirrorOptions) {
    this.#options = options;
    this.#follower = new Follower({
      store: options.store,
      types: ["tool.called"],
      note: () => {
        this.#news = true;
      },
      isBehind: () => this.#news,
      work: () => this.#work(),
    });
  }

  start(): void {
    this.#follower.wake();
  }

  close(): Promise<void> {
    return this.#follower.close();
  }

  async #work(): Promise<void> {
    try {
      while (this.#news) {
        this.#news = false;
        await this.#catchUp();
      }
      this.#failing = false;
    } catch (error) {
      // Retried with the next call, or when the mirror closes.
      this.#news = true;
      this.#written = null;
      this.#complain(error);
    }
  }

  async #catchUp(): Promise<void> {
    const { events } = this.#options.store.read;
    while (true) {
      const after = this.#written ?? (await this.#inspect());
      const calls = (await events.list({ types: ["tool.called"], after, limit: pageSize })).filter(isCall);
      for (const run of runsOf(calls, (call) => this.#fileOf(call))) await this.#append(run.file, run.calls);
      this.#written = calls.at(-1)?.seq ?? after;
      if (calls.length < pageSize) return;
    }
  }

  /** Repairs files after a crash and finds the newest written call. */
  async #inspect(): Promise<number> {
    const { dir } = this.#options;
    await makePrivateDirsBelow(dirname(dir), basename(dir));
    this.#sizes.clear();
    let newest = 0;
    for (const name of await readdir(dir)) {
      if (!name.endsWith(".jsonl")) continue;
      await using handle = await open(join(dir, name), "a+", 0o600);
      const { seq, size } = await repairTail(handle);
      newest = Math.max(newest, seq);
      this.#sizes.set(basename(name, ".jsonl"), size);
    }
    return newest;
  }

  #fileOf({ data: { tool } }: Call): string {
    return fileName.test(tool) && (this.#sizes.has(tool) || this.#sizes.size < maxFiles) ? tool : otherTools;
  }

  async #append(file: string, calls: readonly Call[]): Promise<void> {
    const { dir, redact, maxBytes = defaultMaxBytes } = this.#options;
    const bytes = Buffer.from(calls.map((call) => redactedLine(call, redact)).join(""));
    const path = join(dir, `${file}.jsonl`);
    let size = this.#sizes.get(file) ?? 0;
    if (size > 0 && size + bytes.length > maxBytes) {
      await rename(path, join(dir, `${file}.1.jsonl`)).catch((error: unknown) => {
        if (!isErrno(error, "ENOENT")) throw error;
      });
      size = 0;
    }
    await using handle = await open(path, "a", 0o600);
    await handle.appendFile(bytes);
    this.#sizes.set(file, size + bytes.length);
  }

  #complain(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#options.log.warn("tool calls cannot be written to their files; they are caught up later", {
      dir: this.#options.dir,
      error: errorText(error),
    });
  }
}

/** Groups consecutive calls that go to the same file. */
function runsOf(calls: readonly Call[], fileOf: (call: Call) => string): { file: string; calls: Call[] }[] {
  const runs: { file: string; calls: Call[] }[] = [];
  for (const call of calls) {
    const file = fileOf(call);
    const last = runs.at(-1);
    if (last?.file === file) last.calls.push(call);
    else runs.push({ file, calls: [call] });
  }
  return runs;
}

function isCall(event: Event): event is Call {
  return event.type === "tool.called";
}
