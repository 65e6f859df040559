/**
 * Writes events to greppable files, one event per line: `<session id>.jsonl`, `<queue>.jsonl`, `<schedule>.jsonl` and
 * `<run id>.jsonl`. The files are derived from the event log; only `aegis store salvage` reads those of sessions back,
 * if the log is lost. A commit is only a hint that a file is outdated. The mirror reads from the store what follows the
 * last seq in the file, so that the same code path handles new events and repairs after a crash, a full disk or a
 * deleted folder.
 */
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Event } from "@aegis/contract/event.ts";
import type { RunId, SessionId } from "@aegis/contract/ids.ts";
import { isErrno, makePrivateDirsBelow } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { type Redact, redactedLine } from "@aegis/lib/redact.ts";
import type { EventQuery, Store } from "@aegis/store/store.ts";
import { Follower } from "./follower.ts";
import { type Mark, repairTail } from "./jsonl-tail.ts";

type Log = Pick<Store, "onCommit"> & { read: { events: Pick<Store["read"]["events"], "list" | "lastSeq"> } };
type FileOptions = {
  /** Created if it is missing, but not its parent folders: a deleted project must stay deleted. */
  dir: string;
  redact: Redact;
  log: Logger;
};

export type MirrorOptions = FileOptions & { store: Log & { read: Pick<Store["read"], "sessions"> } };
export type QueueMirrorOptions = FileOptions & { store: Log & { read: Pick<Store["read"], "queues" | "tasks"> } };

export type RunMirrorOptions = FileOptions & { store: Log & { read: Pick<Store["read"], "runs"> } };

export type ScheduleMirrorOptions = FileOptions & {
  store: Log & { read: Pick<Store["read"], "schedules" | "firings"> };
};

export interface Mirror {
  /** Writes what is missing, then stops following. */
  close(): Promise<void>;
}

/** Starts following the store and catches up in the background. */
export async function createMirror({ store, ...files }: MirrorOptions): Promise<Mirror> {
  return follow(files, store, {
    // A driver's private data is not useful to people.
    fileOf: (event) => (event.type === "turn.memory" ? null : event.session),
    query: (session) => ({ session: session as SessionId }),
    files: async () => (await store.read.sessions.list()).map((session) => session.id),
  });
}

/** Like `createMirror`, for queues and their tasks. */
export async function createQueueMirror({ store, ...files }: QueueMirrorOptions): Promise<Mirror> {
  return follow(files, store, {
    fileOf: (event) => (event.session === null && "queue" in event.data ? event.data.queue : null),
    query: (queue) => ({ queue }),
    files: async () => [
      ...(await store.read.queues.list()).map((queue) => queue.name),
      ...(await store.read.tasks.counts()).keys(),
    ],
  });
}

/** Like `createMirror`, for schedules and their firings. */
export async function createScheduleMirror({ store, ...files }: ScheduleMirrorOptions): Promise<Mirror> {
  return follow(files, store, {
    fileOf: (event) => (event.session === null && "schedule" in event.data ? event.data.schedule : null),
    query: (schedule) => ({ schedule }),
    files: async () => [
      ...(await store.read.schedules.list()).map((schedule) => schedule.name),
      ...(await store.read.firings.schedules()),
    ],
  });
}

/** Like `createMirror`, for runs of workflows. */
export async function createRunMirror({ store, ...files }: RunMirrorOptions): Promise<Mirror> {
  return follow(files, store, {
    fileOf: (event) => (event.type.startsWith("run.") && "run" in event.data ? String(event.data.run) : null),
    query: (run) => ({ run: run as RunId }),
    files: async () => (await store.read.runs.list({ limit: 1_000 })).map((run) => run.id),
  });
}

async function follow({ dir, redact, log }: FileOptions, store: Log, by: Grouping): Promise<Mirror> {
  const mirror = new JsonlMirror({ dir, redact, log, store, by });
  await mirror.start();
  return mirror;
}

/** Assigns events to files. */
type Grouping = {
  /** The file's name without its extension, or null for an event that belongs to no file. */
  fileOf(event: Event): string | null;
  query(file: string): Pick<EventQuery, "session" | "queue" | "run" | "schedule">;
  /** Files that may be outdated when the mirror starts. */
  files(): Promise<string[]>;
};

/** Short for a reader of the file, long enough for the commits of a turn: opening a file costs more than a line. */
const gatherMs = 25;
/** Events per write, which bounds the memory use. */
const pageSize = 100;

type JsonlMirrorOptions = FileOptions & { store: Log; by: Grouping };

class JsonlMirror implements Mirror {
  readonly #options: JsonlMirrorOptions;
  readonly #behind = new Set<string>();
  readonly #marks = new Map<string, Mark>();
  readonly #follower: Follower;
  #failing = false;

  constructor(options: JsonlMirrorOptions) {
    this.#options = options;
    this.#follower = new Follower({
      store: options.store,
      note: (events) => {
        for (const event of events) {
          const file = options.by.fileOf(event);
          if (file !== null) this.#behind.add(file);
        }
      },
      isBehind: () => this.#behind.size > 0,
      work: () => this.#work(),
      gatherMs,
    });
  }

  async start(): Promise<void> {
    for (const file of await this.#options.by.files()) this.#behind.add(file);
    this.#follower.wake();
  }

  async close(): Promise<void> {
    await this.#follower.close();
    this.#marks.clear();
  }

  async #work(): Promise<void> {
    // Files that fall behind meanwhile wait for the next run, or constant commits would open a file for each event.
    const files = [...this.#behind];
    this.#behind.clear();
    const failed: string[] = [];
    for (const file of files) {
      try {
        await this.#catchUp(file);
      } catch (error) {
        failed.push(file);
        this.#complain(file, error);
      }
    }
    // Retried with the next commit, or when the mirror closes.
    for (const file of failed) this.#behind.add(file);
    if (failed.length === 0 && this.#failing) {
      this.#failing = false;
      this.#options.log.info("the transcripts are complete again", { dir: this.#options.dir });
    }
  }

  async #catchUp(file: string): Promise<void> {
    const { store, redact, by } = this.#options;
    let mark = this.#marks.get(file) ?? (await this.#repair(file));
    while (true) {
      this.#marks.set(file, mark);
      const events = await store.read.events.list({ ...by.query(file), after: mark.seq, limit: pageSize });
      const last = events.at(-1);
      if (last === undefined) return;
      const text = events
        .filter((event) => by.fileOf(event) === file)
        .map((event) => redactedLine(event, redact))
        .join("");
      const written = await this.#append(file, mark, { text, seq: last.seq });
      mark = written ?? (await this.#repair(file));
      if (written === null || events.length === pageSize) continue;
      // Events committed since the read have marked the file as outdated again.
      this.#marks.set(file, mark);
      return;
    }
  }

  /** Returns null, without writing, if the file was changed by another program. */
  async #append(file: string, mark: Mark, news: { text: string; seq: number }): Promise<Mark | null> {
    if (news.text === "") return { seq: news.seq, size: mark.size };
    try {
      await using handle = await this.#open(file);
      if ((await handle.stat()).size !== mark.size) return null;
      const bytes = Buffer.from(news.text);
      await handle.appendFile(bytes);
      return { seq: news.seq, size: mark.size + bytes.length };
    } catch (error) {
      if (isErrno(error, "ENOENT")) return null;
      throw error;
    }
  }

  async #repair(file: string): Promise<Mark> {
    const { dir } = this.#options;
    await makePrivateDirsBelow(dirname(dir), basename(dir));
    await using handle = await this.#open(file);
    return await repairTail(handle);
  }

  /** Opened per use: there may be more files than a process can keep open. */
  #open(file: string): Promise<FileHandle> {
    return open(join(this.#options.dir, `${file}.jsonl`), "a+", 0o600);
  }

  #complain(file: string, error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#options.log.warn("transcripts cannot be written; they are caught up later, nothing is lost", {
      dir: this.#options.dir,
      file,
      error: errorText(error),
    });
  }
}
