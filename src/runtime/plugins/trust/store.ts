/**
 * `~/.aegis/trust.json`: what a user has agreed to run, project by project. It names contents, not places: what was
 * agreed to and then changed is no longer what was agreed to.
 */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { AegisError } from "../../../contract/errors.ts";
import { isErrno, makePrivateDir, writeAtomic } from "../../../lib/files.ts";
import { errorText } from "../../../lib/log.ts";

const projectSchema = z.object({
  /** Everything there, now and later: for a project that nobody else writes to. */
  always: z.boolean().default(false),
  /** `kind:name` → hash of the content that was agreed to. */
  items: z.record(z.string(), z.string()).default({}),
  /** Plugins that are being written here: what they become is trusted too. */
  dev: z.array(z.string()).default([]),
  /** When it was last agreed to. */
  at: z.string(),
});
export type TrustedProject = z.infer<typeof projectSchema>;

const fileSchema = z.object({ trust_version: z.literal(1), projects: z.record(z.string(), projectSchema) });
type TrustFile = z.infer<typeof fileSchema>;

/** Runs one change at a time over all processes of the user. */
export type Exclusive = <T>(folder: string, work: () => Promise<T>) => Promise<T>;

export type TrustStoreOptions = { path: string; exclusive: Exclusive; now: () => number };

export class TrustStore {
  readonly path: string;
  readonly #options: TrustStoreOptions;

  constructor(options: TrustStoreOptions) {
    this.path = options.path;
    this.#options = options;
  }

  /** Null for a project that was never trusted. Throws `invalid` when the file cannot be used: then nothing is trusted. */
  async project(root: string): Promise<TrustedProject | null> {
    return (await this.#read()).projects[root] ?? null;
  }

  async projects(): Promise<Record<string, TrustedProject>> {
    return (await this.#read()).projects;
  }

  /** Changes what is trusted in a project. Null revokes it whole. */
  async update(root: string, change: (before: TrustedProject) => Omit<TrustedProject, "at"> | null): Promise<void> {
    const folder = dirname(this.path);
    await makePrivateDir(folder);
    await this.#options.exclusive(join(folder, "locks"), async () => {
      const file = await this.#read();
      const at = new Date(this.#options.now()).toISOString();
      const next = change(file.projects[root] ?? { always: false, items: {}, dev: [], at });
      const { [root]: _, ...others } = file.projects;
      file.projects = next === null ? others : { ...others, [root]: { ...next, at } };
      await writeAtomic(this.path, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
    });
  }

  async #read(): Promise<TrustFile> {
    try {
      return fileSchema.parse(JSON.parse(await readFile(this.path, "utf8")), { jitless: true });
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return { trust_version: 1, projects: {} };
      throw new AegisError("invalid", `${this.path} cannot be used: ${errorText(error)}`, {
        hint: "nothing counts as trusted until it is repaired or removed",
        cause: error,
      });
    }
  }
}
