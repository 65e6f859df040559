/** A file of the user with an entry for each project, by the project's real path. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { isErrno, makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { z } from "zod";

/** Serializes changes across all processes of the user. */
export type Exclusive = <T>(folder: string, work: () => Promise<T>) => Promise<T>;

type Content<Entry> = { projects: Record<string, Entry> };

export type ProjectsFileOptions<Entry> = {
  path: string;
  exclusive: Exclusive;
  schema: z.ZodType<Content<Entry>>;
  /** The content as long as the file does not exist. */
  empty: Content<Entry>;
  /** What an unusable file means to the user. */
  hint: string;
};

export class ProjectsFile<Entry> {
  readonly #options: ProjectsFileOptions<Entry>;

  constructor(options: ProjectsFileOptions<Entry>) {
    this.#options = options;
  }

  /** Throws `invalid` if the file is unusable. */
  async get(root: string): Promise<Entry | undefined> {
    return (await this.#read()).projects[root];
  }

  /** Null removes the entry. Durable when it resolves. */
  async update(root: string, change: (before: Entry | undefined) => Entry | null): Promise<void> {
    const { path, exclusive } = this.#options;
    const folder = dirname(path);
    await makePrivateDir(folder);
    await exclusive(join(folder, "locks"), async () => {
      const file = await this.#read();
      const { [root]: before, ...others } = file.projects;
      const entry = change(before);
      const projects = entry === null ? others : { ...others, [root]: entry };
      await writeAtomic(path, `${JSON.stringify({ ...file, projects }, null, 2)}\n`, { mode: 0o600 });
    });
  }

  async #read(): Promise<Content<Entry>> {
    const { path, schema, empty, hint } = this.#options;
    try {
      return schema.parse(JSON.parse(await readFile(path, "utf8")), { jitless: true });
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return empty;
      throw new AegisError("invalid", `${path} cannot be used: ${errorText(error)}`, { hint, cause: error });
    }
  }
}
