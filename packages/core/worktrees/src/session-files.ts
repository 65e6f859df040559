/** The files of the folder in which a session works, for completion in clients. */
import { realpath } from "node:fs/promises";
import { relative } from "node:path";
import type { SessionId } from "@aegis/contract/ids.ts";
import { filesBelow } from "@aegis/lib/files-below.ts";
import { hasRepository } from "@aegis/lib/git/repository.ts";
import { fields } from "@aegis/lib/git/run.ts";
import { rankPaths } from "@aegis/lib/rank-paths.ts";
import type { Boundaries } from "./boundaries.ts";

export type SessionFilesOptions = {
  boundaries: Pick<Boundaries, "repository">;
  clock: { now(): number };
  folderOf: (session: SessionId) => Promise<string>;
};

const mostBytes = 8 << 20;
/** Each key that a person types asks again. */
const keptMs = 5_000;
const mostKept = 8;

export class SessionFiles {
  readonly #options: SessionFilesOptions;
  readonly #kept = new Map<string, { at: number; files: Promise<readonly string[]> }>();

  constructor(options: SessionFilesOptions) {
    this.#options = options;
  }

  /** Paths relative to the folder, the best match first. In a git project ignored files are left out. */
  async find(session: SessionId, text: string, limit: number): Promise<string[]> {
    return rankPaths(await this.#files(await this.#options.folderOf(session)), text, limit);
  }

  #files(folder: string): Promise<readonly string[]> {
    const now = this.#options.clock.now();
    const known = this.#kept.get(folder);
    if (known !== undefined && now - known.at < keptMs) return known.files;
    const files = this.#list(folder);
    this.#kept.delete(folder);
    this.#kept.set(folder, { at: now, files });
    for (const [oldest] of this.#kept) if (this.#kept.size > mostKept) this.#kept.delete(oldest);
    return files;
  }

  async #list(folder: string): Promise<readonly string[]> {
    if (!hasRepository(folder)) return await filesBelow(folder);
    try {
      const repository = await this.#options.boundaries.repository(folder);
      const below = relative(repository.root, await realpath(folder));
      const { stdout, truncated } = await repository.git(
        ["ls-files", "-c", "-o", "--exclude-standard", "--deduplicate", "-z", ...(below === "" ? [] : ["--", below])],
        { maxBytes: mostBytes },
      );
      const names = fields(stdout);
      const whole = truncated ? names.slice(0, -1) : names;
      return whole
        .map((path) => (below === "" ? path : path.slice(below.length + 1)))
        .filter((path) => !path.startsWith(".aegis/"));
    } catch {
      // A repository that git cannot read still has files.
      return await filesBelow(folder);
    }
  }
}
