/**
 * Transcripts people can grep: `<session id>.jsonl`, one event per line. They are derived from the event log and never
 * read back. A commit is only a hint that a session has news; what to write is asked of the store, after the last number
 * found in the file, so that a crash, a full disk or a deleted folder is made good by the same path as a new event.
 */
import { type FileHandle, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Event } from "../../contract/event.ts";
import type { SessionId } from "../../contract/ids.ts";
import { isErrno, makePrivateDirsBelow } from "../../lib/files.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Redact } from "../../lib/redact.ts";
import type { Store } from "../../store/store.ts";

export type MirrorOptions = {
  store: Pick<Store, "onCommit"> & { read: Pick<Store["read"], "events" | "sessions"> };
  /** Made when it is missing, but not the folders above it: a project that was deleted stays deleted. */
  dir: string;
  redact: Redact;
  log: Logger;
};

export interface Mirror {
  /** Writes what is still missing, then stops following. */
  close(): Promise<void>;
}

/** Follows the store from now on and catches up in the background. */
export async function createMirror(options: MirrorOptions): Promise<Mirror> {
  const mirror = new TranscriptMirror(options);
  await mirror.start();
  return mirror;
}

/** Events per write: also what is held in memory at once. */
const pageSize = 100;
const firstTailBytes = 16 * 1024;

/** How far a file is written. A size that differs means that somebody else changed the file. */
type Mark = { seq: number; size: number };

class TranscriptMirror implements Mirror {
  readonly #options: MirrorOptions;
  readonly #behind = new Set<SessionId>();
  readonly #marks = new Map<SessionId, Mark>();
  #working: Promise<void> | null = null;
  #stopFollowing: () => void = () => {};
  #failing = false;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { store } = this.#options;
    this.#stopFollowing = store.onCommit((events) => {
      for (const event of events) if (isMirrored(event)) this.#behind.add(event.session);
      this.#wake();
    });
    for (const session of await store.read.sessions.list()) this.#behind.add(session.id);
    this.#wake();
  }

  async close(): Promise<void> {
    this.#stopFollowing();
    await this.#working;
    this.#wake();
    await this.#working;
    this.#marks.clear();
  }

  #wake(): void {
    if (this.#behind.size > 0) this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    const failed = new Set<SessionId>();
    for (const session of this.#behind) {
      this.#behind.delete(session);
      try {
        await this.#catchUp(session);
        failed.delete(session);
      } catch (error) {
        failed.add(session);
        this.#complain(session, error);
      }
    }
    // They are tried again with the next commit, or when the mirror closes.
    for (const session of failed) this.#behind.add(session);
    if (failed.size === 0 && this.#failing) {
      this.#failing = false;
      this.#options.log.info("the transcripts are complete again", { dir: this.#options.dir });
    }
    this.#working = null;
  }

  async #catchUp(session: SessionId): Promise<void> {
    const { store, redact } = this.#options;
    const redactStrings = (_key: string, value: unknown) => (typeof value === "string" ? redact(value) : value);
    let mark = this.#marks.get(session) ?? (await this.#repair(session));
    while (true) {
      this.#marks.set(session, mark);
      const events = await store.read.events.list({ session, after: mark.seq, limit: pageSize });
      const last = events.at(-1);
      if (last === undefined) return;
      const text = events
        .filter(isMirrored)
        .map((event) => `${JSON.stringify(event, redactStrings)}\n`)
        .join("");
      const written = await this.#append(session, mark, { text, seq: last.seq });
      mark = written ?? (await this.#repair(session));
      if (written === null || events.length === pageSize) continue;
      // What was committed since the read has put the session back among those behind.
      this.#marks.set(session, mark);
      return;
    }
  }

  /** Null when the file is not as it was left, and nothing was written. */
  async #append(session: SessionId, mark: Mark, news: { text: string; seq: number }): Promise<Mark | null> {
    if (news.text === "") return { seq: news.seq, size: mark.size };
    try {
      await using file = await this.#open(session);
      if ((await file.stat()).size !== mark.size) return null;
      const bytes = Buffer.from(news.text);
      await file.appendFile(bytes);
      return { seq: news.seq, size: mark.size + bytes.length };
    } catch (error) {
      if (isErrno(error, "ENOENT")) return null;
      throw error;
    }
  }

  async #repair(session: SessionId): Promise<Mark> {
    const { dir } = this.#options;
    await makePrivateDirsBelow(dirname(dir), basename(dir));
    await using file = await this.#open(session);
    return await repairTail(file);
  }

  /** Open only as long as it is used: there may be more sessions than a process may have files. */
  #open(session: SessionId): Promise<FileHandle> {
    return open(join(this.#options.dir, `${session}.jsonl`), "a+", 0o600);
  }

  #complain(session: SessionId, error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#options.log.warn("transcripts cannot be written; they are caught up later, nothing is lost", {
      dir: this.#options.dir,
      session,
      error: errorText(error),
    });
  }
}

function isMirrored(event: Event): event is Event & { session: SessionId } {
  // What a driver keeps for itself says nothing to people.
  return event.session !== null && event.type !== "turn.memory";
}

/** Cuts off what a crash left of a line and finds the number of the last whole one. */
async function repairTail(file: FileHandle): Promise<Mark> {
  const { size } = await file.stat();
  for (let length = firstTailBytes; ; length *= 4) {
    const start = Math.max(0, size - length);
    const tail = await readAll(file, start, size - start);
    const found = lastWholeLine(tail);
    // The end of a line is not JSON, so a line that begins before the tail is not mistaken for a whole one.
    if (found === null && start > 0) continue;
    const end = found === null ? 0 : start + found.end;
    if (end < size) await file.truncate(end);
    return { seq: found?.seq ?? 0, size: end };
  }
}

function lastWholeLine(tail: Buffer): { seq: number; end: number } | null {
  for (let newline = tail.lastIndexOf(10); newline !== -1; ) {
    const previous = newline === 0 ? -1 : tail.lastIndexOf(10, newline - 1);
    const seq = seqOf(tail.toString("utf8", previous + 1, newline));
    if (seq !== null) return { seq, end: newline + 1 };
    newline = previous;
  }
  return null;
}

function seqOf(line: string): number | null {
  try {
    const event = JSON.parse(line) as { seq?: unknown } | null;
    return typeof event?.seq === "number" ? event.seq : null;
  } catch {
    return null;
  }
}

async function readAll(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(buffer, read, length - read, start + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return buffer.subarray(0, read);
}
