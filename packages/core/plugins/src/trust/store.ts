/**
 * `~/.aegis/trust.json`: what a user trusts, per project. Entries are content hashes, so a changed item is no longer
 * trusted.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { type Exclusive, ProjectsFile } from "../projects-file.ts";
import type { TrustParts } from "./parts.ts";
import { AgreedVersions } from "./versions.ts";

const projectSchema = z.object({
  /** Trust everything, now and later: for a project to which only the user writes. */
  always: z.boolean().default(false),
  /** `kind:name` → hash of the trusted content. */
  items: z.record(z.string(), z.string()).default({}),
  /** Plugins under development: later changes are trusted too. */
  dev: z.array(z.string()).default([]),
  /** When each item was trusted, and by which user of the machine. Items of version 0.1 have no entry. */
  agreed: z.record(z.string(), z.object({ at: z.string(), by: z.string() })).default({}),
  /** Folders of worktrees → `kind:name` → hash of another version that is trusted there. */
  worktrees: z.record(z.string(), z.record(z.string(), z.string())).default({}),
  /** When trust was last given. */
  at: z.string(),
});
export type TrustedProject = z.infer<typeof projectSchema>;

const fileSchema = z.object({ trust_version: z.literal(1), projects: z.record(z.string(), projectSchema) });
const emptyFile: z.infer<typeof fileSchema> = { trust_version: 1, projects: {} };

export type TrustStoreOptions = {
  path: string;
  exclusive: Exclusive;
  now: () => number;
  /** The name of the user who trusts. */
  user: string;
};

/** The decision of a change; the store adds time and user. */
export type TrustDecision = Omit<TrustedProject, "at" | "agreed">;

export type AgreedItem = { key: string; hash: string; parts: () => Promise<TrustParts> };

export class TrustStore {
  readonly path: string;
  readonly #options: TrustStoreOptions;
  readonly #file: ProjectsFile<TrustedProject>;
  readonly #versions: AgreedVersions;

  constructor(options: TrustStoreOptions) {
    this.path = options.path;
    this.#options = options;
    this.#versions = new AgreedVersions(join(dirname(options.path), "agreed"), options.exclusive);
    this.#file = new ProjectsFile({
      path: options.path,
      exclusive: options.exclusive,
      schema: fileSchema,
      empty: emptyFile,
      hint: "nothing counts as trusted until it is repaired or removed",
    });
  }

  /** Null for a project that was never trusted. Throws `invalid` if the file is unusable; nothing is trusted then. */
  async project(root: string): Promise<TrustedProject | null> {
    return (await this.#file.get(root)) ?? null;
  }

  /** What a trusted item consisted of; null if there is no record, or none that can be read. */
  agreedParts(root: string, key: string): Promise<TrustParts | null> {
    return this.#versions.get(root, key);
  }

  /** Trusts exactly this content, and records what it consists of, in order to say later what changed. */
  async agree(root: string, items: readonly AgreedItem[], worktree: string | null = null): Promise<void> {
    const hashes = Object.fromEntries(items.map(({ key, hash }) => [key, hash]));
    await this.update(root, (before) => {
      if (worktree === null) return { ...before, items: { ...before.items, ...hashes } };
      const there = Object.entries(before.worktrees).filter(([folder]) => folder !== worktree && existsSync(folder));
      const own = { ...before.worktrees[worktree], ...hashes };
      return { ...before, worktrees: { ...Object.fromEntries(there), [worktree]: own } };
    });
    // The record of the project's own version explains what differs in a worktree.
    if (worktree === null) await this.#versions.record(root, items);
  }

  /** Changes what is trusted in a project. Null revokes everything. */
  async update(root: string, change: (before: TrustedProject) => TrustDecision | null): Promise<void> {
    const { now, user } = this.#options;
    await this.#file.update(root, (found) => {
      const at = new Date(now()).toISOString();
      const before = found ?? untrustedProject(at);
      const next = change(before);
      return next === null ? null : { ...next, agreed: agreements(before, next, { at, by: user }), at };
    });
  }
}

/** A project in which nothing is trusted. */
export function untrustedProject(at: string): TrustedProject {
  return { always: false, items: {}, dev: [], agreed: {}, worktrees: {}, at };
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
