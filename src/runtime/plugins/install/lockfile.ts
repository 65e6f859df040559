/** `.aegis/plugins.lock`: which plugins were installed, from where, and exactly what was put in place. */
import { join } from "node:path";
import { z } from "zod";
import { AegisError } from "../../../contract/errors.ts";
import { errorText } from "../../../lib/log.ts";
import { didYouMean } from "../../../lib/nearest.ts";

export const lockFile = join(".aegis", "plugins.lock");

/** Something that an install put into the project's files, so that the uninstall takes away this and nothing else. */
export const additionSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("value"),
    /** In `.aegis.yaml`. */
    path: z.array(z.string()).min(1),
    value: z.unknown(),
    /** How many keys of the path were there before. */
    had: z.int().min(0),
  }),
  z.object({ kind: z.literal("file"), path: z.string().min(1), hash: z.string() }),
]);
export type Addition = z.infer<typeof additionSchema>;

export function additionName(one: Addition): string {
  return one.kind === "file" ? one.path : one.path.join(".");
}

const entrySchema = z.object({
  version: z.string(),
  /** As `--from` takes it. */
  source: z.string(),
  /** The registry that the source was found in; null when it was named. */
  registry: z.string().nullable(),
  /** Of a git repository; null for a folder. */
  commit: z.string().nullable(),
  installed_at: z.string(),
  updated_at: z.string(),
  /** Over the whole tree. */
  tree: z.string(),
  /** Path → hash, to tell what was edited since. */
  files: z.record(z.string(), z.string()),
  added: z.array(additionSchema),
});
export type LockEntry = z.infer<typeof entrySchema>;

const lockSchema = z.object({ lock_version: z.literal(1), plugins: z.record(z.string(), entrySchema) });
export type Lock = z.infer<typeof lockSchema>["plugins"];

/** Throws `invalid` for a file that cannot be used: guessing at it could run what nobody agreed to. */
export function parseLock(bytes: Uint8Array | null): Lock {
  if (bytes === null) return Object.create(null) as Lock;
  const wrong = (why: string, cause: unknown) =>
    new AegisError("invalid", `${lockFile} cannot be used: ${why}`, {
      hint: "restore it from version control, or remove it and install the plugins again",
      cause,
    });
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (error) {
    throw wrong(errorText(error), error);
  }
  const parsed = lockSchema.safeParse(value, { jitless: true });
  // Names are the plugins' own; none of them may find what every object inherits.
  if (parsed.success) return Object.assign(Object.create(null) as Lock, parsed.data.plugins);
  const [issue] = parsed.error.issues;
  throw wrong(`${issue?.path.join(".") ?? ""}: ${issue?.message ?? "wrong"}`, parsed.error);
}

/** Throws `not_found` with the nearest name. */
export function entryOf(lock: Lock, name: string): LockEntry {
  const entry = lock[name];
  if (entry !== undefined) return entry;
  const names = Object.keys(lock);
  throw new AegisError("not_found", `no plugin "${name}" was installed here${didYouMean(name, names)}`, {
    hint: names.length === 0 ? "nothing is installed" : `installed: ${names.join(", ")}`,
  });
}

/** Sorted by name, so that two branches that each install a plugin merge. Null when nothing is left to say. */
export function formatLock(lock: Lock): Uint8Array | null {
  const names = Object.keys(lock).sort();
  if (names.length === 0) return null;
  const plugins = Object.fromEntries(names.map((name) => [name, lock[name]]));
  return Buffer.from(`${JSON.stringify({ lock_version: 1, plugins }, null, 2)}\n`);
}
