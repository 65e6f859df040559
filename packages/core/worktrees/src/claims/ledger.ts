/**
 * Which content of a file each session knows, and which session wrote a file last. What sessions know is in memory: a
 * session that knows nothing may not replace what another one wrote. Who wrote is durable, and is recorded before the
 * write, so that a crash in the middle of it does not make the write invisible.
 */
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { join } from "node:path";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { isErrno } from "@aegis/lib/files.ts";
import type { FileWriteRow, Store } from "@aegis/store/store.ts";

/** `text` is null if the file is binary or large. */
export type Content = { hash: string; text: string | null };

/** The hash of a file that does not exist. */
export const absent = "absent";

/** A larger file is identified by its size and its time. */
const largestHashed = 16 * 1024 * 1024;
/** Only smaller texts are kept to show what changed. */
const largestKept = 128 * 1024;
const mostKeptBytes = 16 * 1024 * 1024;
const mostSessions = 500;
const mostFiles = 5_000;
/** After this time it no longer matters who wrote a file. */
const keepMs = 90 * 24 * 60 * 60 * 1000;

export class Ledger {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #root: string;
  /** The most recently used sessions and files come last. */
  readonly #known = new Map<SessionId, Map<string, string>>();
  readonly #texts = new Map<string, string>();
  #keptBytes = 0;

  constructor(options: { store: Store; clock: Clock; root: string }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#root = options.root;
  }

  /** The file's present content. Throws if it is no regular file or cannot be read. */
  async now(path: string): Promise<Content> {
    try {
      await using file = await open(join(this.#root, path), "r");
      const info = await file.stat();
      if (!info.isFile()) throw new Error(`${path} is not a regular file`);
      if (info.size > largestHashed) return { hash: `${info.size} bytes at ${info.mtimeMs}`, text: null };
      const data = await file.readFile();
      const text = data.length > largestKept || data.includes(0) ? null : data.toString("utf8");
      return { hash: createHash("sha256").update(data).digest("hex"), text };
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return { hash: absent, text: null };
      throw error;
    }
  }

  /** The hash of the content that the session knows; null if it knows none. */
  known(session: SessionId, path: string): string | null {
    return this.#known.get(session)?.get(path) ?? null;
  }

  /** The content of this hash, if it is still kept. */
  text(hash: string): string | null {
    return this.#texts.get(hash) ?? null;
  }

  saw(session: SessionId, path: string, { hash, text }: Content): void {
    const files = this.#known.get(session) ?? new Map<string, string>();
    this.#known.delete(session);
    this.#known.set(session, files);
    files.delete(path);
    files.set(path, hash);
    shorten(files, mostFiles);
    shorten(this.#known, mostSessions);
    if (text !== null) this.#keep(hash, text);
  }

  forget(session: SessionId): void {
    this.#known.delete(session);
  }

  writer(path: string): Promise<FileWriteRow | null> {
    return this.#store.read.fileWrites.get(path);
  }

  /** Returns what was recorded before, for `undo`. */
  begin(session: SessionId, paths: readonly string[]): Promise<Map<string, FileWriteRow | null>> {
    return this.#store.transact(async (tx) => {
      const before = new Map<string, FileWriteRow | null>();
      for (const path of paths) {
        before.set(path, await tx.fileWrites.get(path));
        await tx.fileWrites.put({ path, session, hash: null, at: this.#clock.now() });
      }
      return before;
    });
  }

  /** `wrote` has what the session left in each file; `undo` has the rows of the files that it did not change. */
  async end(
    session: SessionId,
    wrote: ReadonlyMap<string, Content>,
    undo: ReadonlyMap<string, FileWriteRow | null>,
  ): Promise<void> {
    for (const [path, content] of wrote) this.saw(session, path, content);
    if (wrote.size + undo.size === 0) return;
    await this.#store.transact(async (tx) => {
      for (const [path, { hash }] of wrote) await tx.fileWrites.put({ path, session, hash, at: this.#clock.now() });
      for (const [path, row] of undo) await (row === null ? tx.fileWrites.remove(path) : tx.fileWrites.put(row));
    });
  }

  async forgetOld(): Promise<void> {
    await this.#store.transact((tx) => tx.fileWrites.removeBefore(this.#clock.now() - keepMs));
  }

  #keep(hash: string, text: string): void {
    const before = this.#texts.get(hash);
    this.#texts.delete(hash);
    this.#texts.set(hash, text);
    if (before === undefined) this.#keptBytes += text.length;
    for (const [oldest, old] of this.#texts) {
      if (this.#keptBytes <= mostKeptBytes) return;
      this.#texts.delete(oldest);
      this.#keptBytes -= old.length;
    }
  }
}

function shorten(map: Map<unknown, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
