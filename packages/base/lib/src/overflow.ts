/**
 * Stores output that is too large for the database as `<name>.txt` in one folder. Each file and the folder have a size
 * limit; the oldest files are deleted first. If a write fails, only the file is lost, never the work that produced the
 * text.
 */
import { type FileHandle, open, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { makePrivateDirsBelow } from "./files.ts";
import { errorText, type Logger } from "./log.ts";

export type OverflowOptions = {
  /** Created if missing; its parent must exist. */
  dir: string;
  /** The path of the folder as shown to people and agents. */
  shownAs: string;
  log: Logger;
  maxFileBytes?: number;
  maxTotalBytes?: number;
};

const defaultFileBytes = 128 * 1024 * 1024;
const defaultTotalBytes = 512 * 1024 * 1024;
/** Buffers small chunks up to this size before each write. */
const writeChars = 1024 * 1024;

export class OverflowFiles {
  readonly #options: OverflowOptions;
  readonly #open = new Set<string>();

  constructor(options: OverflowOptions) {
    this.#options = options;
  }

  /** Opens a file for text that arrives in chunks. The file is created with the first chunk. */
  begin(name: string): OverflowFile {
    const { log, maxFileBytes = defaultFileBytes } = this.#options;
    return new OverflowFile({
      create: () => this.#create(name),
      closed: (path) => this.#closed(path),
      log,
      maxFileBytes,
    });
  }

  /** Writes the whole text. Returns the path to show, or null if the write failed. */
  async keep(name: string, text: string): Promise<string | null> {
    const file = this.begin(name);
    await file.write(text);
    return await file.close();
  }

  async #create(name: string): Promise<Created> {
    const { dir, shownAs, maxFileBytes = defaultFileBytes, maxTotalBytes = defaultTotalBytes } = this.#options;
    await makePrivateDirsBelow(dirname(dir), basename(dir));
    await this.#prune(maxTotalBytes - maxFileBytes);
    for (let n = 1; ; n++) {
      const file = n === 1 ? `${name}.txt` : `${name}-${n}.txt`;
      try {
        // `wx` never follows a link and never overwrites an existing file.
        const handle = await open(join(dir, file), "wx", 0o600);
        this.#open.add(file);
        return { handle, file, shown: `${shownAs}/${file}` };
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      }
    }
  }

  async #closed(file: string): Promise<void> {
    this.#open.delete(file);
    await this.#prune(this.#options.maxTotalBytes ?? defaultTotalBytes);
  }

  /** Deletes the oldest closed files until at most `most` bytes remain. */
  async #prune(most: number): Promise<void> {
    const { dir } = this.#options;
    const found = await Promise.all(
      (await readdir(dir)).map(async (name) => {
        const { size, mtimeMs } = await stat(join(dir, name)).catch(() => ({ size: 0, mtimeMs: 0 }));
        return { name, size, mtimeMs };
      }),
    );
    let total = found.reduce((sum, { size }) => sum + size, 0);
    for (const { name, size } of found.sort((a, b) => a.mtimeMs - b.mtimeMs)) {
      if (total <= most) return;
      if (this.#open.has(name)) continue;
      await rm(join(dir, name), { force: true });
      total -= size;
    }
  }
}

type Created = { handle: FileHandle; file: string; shown: string };

type OverflowFileOptions = {
  create: () => Promise<Created>;
  closed: (file: string) => Promise<void>;
  log: Logger;
  maxFileBytes: number;
};

export class OverflowFile {
  readonly #options: OverflowFileOptions;
  #created: Created | null = null;
  #failed = false;
  #waiting: string[] = [];
  #waitingChars = 0;
  #bytes = 0;

  constructor(options: OverflowFileOptions) {
    this.#options = options;
  }

  /** Text beyond the file's limit is dropped. Never rejects. */
  async write(text: string): Promise<void> {
    if (this.#failed || this.#bytes >= this.#options.maxFileBytes) return;
    this.#waiting.push(text);
    this.#waitingChars += text.length;
    if (this.#waitingChars >= writeChars || this.#created === null) await this.#flush();
  }

  /** Returns the path to show, or null if nothing was stored. Never rejects. */
  async close(): Promise<string | null> {
    await this.#flush();
    const created = this.#created;
    if (created === null) return null;
    this.#created = null;
    try {
      await created.handle.close();
      await this.#options.closed(created.file);
    } catch (error) {
      this.#fail(error);
    }
    return this.#failed ? null : created.shown;
  }

  async #flush(): Promise<void> {
    const text = this.#waiting.join("");
    this.#waiting = [];
    this.#waitingChars = 0;
    if (text === "" || this.#failed) return;
    try {
      this.#created ??= await this.#options.create();
      const bytes = Buffer.from(text).subarray(0, this.#options.maxFileBytes - this.#bytes);
      await this.#created.handle.appendFile(bytes);
      this.#bytes += bytes.length;
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failed = true;
    this.#options.log.warn("output that is too large for the database could not be kept", { error: errorText(error) });
  }
}
