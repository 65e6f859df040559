/**
 * `~/.aegis/trust.json`: what a user trusts, per project. Entries are content hashes, so a changed item is no longer
 * trusted.
 */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { AegisError } from "../../../contract/errors.ts";
import { isErrno, makePrivateDir, writeAtomic } from "../../../lib/files.ts";
import { errorText } from "../../../lib/log.ts";

const projectSchema = z.object({
  /** Trust everything, now and later: for a project to which only the user writes. */
  always: z.boolean().default(false),
  /** `kind:name` → hash of the trusted content. */
  items: z.record(z.string(), z.string()).default({}),
  /** Plugins under development: later changes are trusted too. */
  dev: z.array(z.string()).default([]),
  /** When each item was trusted, and by which user of the machine. Items of version 0.1 have no entry. */
  agreed: z.record(z.string(), z.object({ at: z.string(), by: z.string() })).default({}),
  /** When trust was last given. */
  at: z.string(),
});
export type TrustedProject = z.infer<typeof projectSchema>;

const fileSchema = z.object({ trust_version: z.literal(1), projects: z.record(z.string(), projectSchema) });
type TrustFile = z.infer<typeof fileSchema>;

/** Serializes changes across all processes of the user. */
export type Exclusive = <T>(folder: string, work: () => Promise<T>) => Promise<T>;

export type TrustStoreOptions = {
  path: string;
  exclusive: Exclusive;
  now: () => number;
  /** The name of the user who trusts. */
  user: string;
};

/** The decision of a change; the store adds time and user. */
export type TrustDecision = Omit<TrustedProject, "at" | "agreed">;

export class TrustStore {
  readonly path: string;
  readonly #options: TrustStoreOptions;

  constructor(options: TrustStoreOptions) {
    this.path = options.path;
    this.#options = options;
  }

  /** Null for a project that was never trusted. Throws `invalid` if the file is unusable; nothing is trusted then. */
  async project(root: string): Promise<TrustedProject | null> {
    return (await this.#read()).projects[root] ?? null;
  }

  /** Changes what is trusted in a project. Null revokes everything. */
  async update(root: string, change: (before: TrustedProject) => TrustDecision | null): Promise<void> {
    const folder = dirname(this.path);
    await makePrivateDir(folder);
    await this.#options.exclusive(join(folder, "locks"), async () => {
      const file = await this.#read();
      const at = new Date(this.#options.now()).toISOString();
      const before = file.projects[root] ?? untrustedProject(at);
      const next = change(before);
      const { [root]: _, ...others } = file.projects;
      const agreed = next === null ? {} : agreements(before, next, { at, by: this.#options.user });
      file.projects = next === null ? others : { ...others, [root]: { ...next, agreed, at } };
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

/** A project in which nothing is trusted. */
export function untrustedProject(at: string): TrustedProject {
  return { always: false, items: {}, dev: [], agreed: {}, at };
}

/** An unchanged item keeps its entry; a new or changed one gets the current time. */
function agreements(
  before: TrustedProject,
  next: TrustDecision,
  now: { at: string; by: string },
): TrustedProject["agreed"] {
  const entries = Object.keys(next.items).flatMap((key) => {
    if (next.items[key] !== before.items[key]) return [[key, now] as const];
    const earlier = before.agreed[key];
    return earlier === undefined ? [] : [[key, earlier] as const];
  });
  return Object.fromEntries(entries);
}
