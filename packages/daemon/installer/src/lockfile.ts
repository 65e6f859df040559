/**
 * `packages.lock`: the installed plugins and skills of a place, their sources and the hashes of their files. It is kept
 * in version control. Version 0.1 had a file for each kind; they are read too, and the next change replaces them.
 */

import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { plainMessage } from "@aegis/lib/issue-words.ts";
import { errorText } from "@aegis/lib/log.ts";
import { z } from "zod";
import type { FilePlan } from "./file-plan.ts";
import type { InstallPlace, PackageKind } from "./place.ts";

/** A change that an install made to the project's files, so that the uninstall removes exactly this. */
const additionSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("value"),
    /** In `.aegis.yaml`. */
    path: z.array(z.string()).min(1),
    value: z.unknown(),
    /** The number of keys of the path that existed before. */
    had: z.int().min(0),
  }),
  z.object({ kind: z.literal("file"), path: z.string().min(1), hash: z.string() }),
]);
export type Addition = z.infer<typeof additionSchema>;

export function additionName(one: Addition): string {
  return one.kind === "file" ? one.path : one.path.join(".");
}

const entrySchema = z.object({
  /** The name that the package gives itself. */
  name: z.string(),
  version: z.string().nullable(),
  /** What an update fetches again. A folder that a plugin comes from is relative to the project. */
  source: z.string(),
  /** The plugin registry in which the source was found; null if the user named the source. */
  registry: z.string().nullable(),
  commit: z.string().nullable(),
  installed_at: z.string(),
  updated_at: z.string(),
  /** Covers all files as installed. */
  hash: z.string(),
  /** Path → hash, to tell which files of a plugin were edited. */
  files: z.record(z.string(), z.string()).optional(),
  added: z.array(additionSchema).optional(),
  /** Malicious findings in exactly these files that a person overrode: `rule file:line`. */
  overridden: z.array(z.string()).optional(),
});
export type LockEntry = z.infer<typeof entrySchema>;

/** By kind and by the name of the package's folder. */
export type Lock = Readonly<Record<PackageKind, ReadonlyMap<string, LockEntry>>>;

const entries = z.record(z.string(), entrySchema);
const lockSchema = z.object({ lock_version: z.literal(2), plugins: entries, skills: entries });
type LockFile = z.infer<typeof lockSchema>;

const lockName = "packages.lock";

const oldEntries = z.record(z.string(), z.record(z.string(), z.unknown()));
/** The lockfiles of version 0.1, in the present format. */
const oldFiles: Readonly<Record<string, (value: unknown) => unknown>> = {
  "plugins.lock": (value) => {
    const { plugins } = z.object({ lock_version: z.literal(1), plugins: oldEntries }).parse(value);
    return {
      lock_version: 2,
      skills: {},
      plugins: each(plugins, ({ tree, ...one }, name) => ({ name, hash: tree, ...one })),
    };
  },
  "skills.lock": (value) => {
    const { skills } = z.object({ version: z.literal(1), skills: oldEntries }).parse(value);
    const now = (one: Record<string, unknown>) => ({ registry: null, updated_at: one.installed_at, ...one });
    return { lock_version: 2, plugins: {}, skills: each(skills, now) };
  },
};

/** Throws `invalid` for an unusable file, so that its content is not lost, and because guessing could run untrusted code. */
export async function readLock(plan: FilePlan, place: Pick<InstallPlace, "base">): Promise<Lock> {
  const files: LockFile[] = [];
  for (const [name, upgrade] of Object.entries({ ...oldFiles, [lockName]: (value: unknown) => value })) {
    const path = join(place.base, name);
    const bytes = await plan.read(path);
    if (bytes !== null) files.push(parse(path, bytes, upgrade));
  }
  // The last file is the present one: its entries replace those of an old file that came back by a merge.
  const merged = (kind: "plugins" | "skills") => new Map(files.flatMap((file) => Object.entries(file[kind])));
  return { plugin: merged("plugins"), skill: merged("skills") };
}

/** Sets one entry, or removes it with null. Removes the lockfiles of version 0.1. */
export async function writeLock(
  plan: FilePlan,
  place: Pick<InstallPlace, "base">,
  { kind, folder, entry }: { kind: PackageKind; folder: string; entry: LockEntry | null },
): Promise<void> {
  const lock = await readLock(plan, place);
  const changed = new Map(lock[kind]);
  if (entry === null) changed.delete(folder);
  else changed.set(folder, entry);
  const [plugin, skill] = kind === "plugin" ? [changed, lock.skill] : [lock.plugin, changed];
  const text = `${JSON.stringify({ lock_version: 2, plugins: sorted(plugin), skills: sorted(skill) }, null, 2)}\n`;
  await plan.write(join(place.base, lockName), plugin.size + skill.size === 0 ? null : Buffer.from(text));
  for (const name of Object.keys(oldFiles)) await plan.write(join(place.base, name), null);
}

function parse(path: string, bytes: Uint8Array, upgrade: (value: unknown) => unknown): LockFile {
  try {
    return lockSchema.parse(upgrade(JSON.parse(Buffer.from(bytes).toString("utf8"))), { jitless: true });
  } catch (error) {
    const [issue] = error instanceof z.ZodError ? error.issues : [];
    const why = issue === undefined ? errorText(error) : `${issue.path.join(".")}: ${plainMessage(issue.message)}`;
    throw new AegisError("invalid", `${path} cannot be used: ${why}`, {
      hint: "restore it from version control, or remove it and install the packages again",
      cause: error,
    });
  }
}

/** Sorted by name, so that branches that each install a package merge cleanly. */
function sorted(map: ReadonlyMap<string, LockEntry>): Record<string, LockEntry> {
  return Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function each<T, R>(record: Readonly<Record<string, T>>, change: (one: T, name: string) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([name, one]) => [name, change(one, name)]));
}
