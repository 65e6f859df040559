/**
 * Applies a set of changes to a place atomically, even if the process is killed. All new content is prepared in a
 * workspace beside it; writing the journal there is the commit point. Without a journal nothing was changed, and the
 * workspace is deleted once its process has exited. With a journal the changes are applied, and applied again after a
 * crash; what cannot be applied is rolled back. A journal decides which files are replaced, so only one signed by the
 * installing user is applied: another one may have come with the folder.
 */
import { createHash, randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { tryFileLock } from "@aegis/lib/file-lock.ts";
import { exists, ifMissing, isErrno, makePrivateDir, syncFolder, writeAtomic } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { z } from "zod";
import type { PlannedFile } from "./file-plan.ts";
import type { Decision, InstallPlace } from "./place.ts";

/** A folder that is replaced by a prepared one, or deleted if there is none. Paths are relative to the root. */
export type FolderSwap = { target: string; prepared: string | null };

export type Changes = { swaps: readonly FolderSwap[]; files: readonly PlannedFile[] };

/** Called with the name of each step before it runs. Tests stop or kill the process there. */
export type Checkpoint = (step: string) => void | Promise<void>;

/** The order of the keys is part of the signature. */
const journalSchema = z.object({
  plugin: z.string().optional(),
  skill: z.string().optional(),
  action: z.string(),
  folders: z.array(z.object({ target: z.string(), slot: z.string(), replaces: z.boolean(), brings: z.boolean() })),
  files: z.array(
    z.object({
      path: z.string(),
      mode: z.int(),
      /** The hash of the content before and after; null if the file does not exist. */
      before: z.string().nullable(),
      after: z.string().nullable(),
      slot: z.string(),
    }),
  ),
  /** Folders to create, outermost first. */
  made: z.array(z.string()),
  trust: z.string().nullable(),
});
export type Journal = z.infer<typeof journalSchema>;
type FolderStep = Journal["folders"][number];
type FileStep = Journal["files"][number];

const journalName = "journal.json";
/** Locked while the process that prepares the workspace lives. */
const ownerName = "owner.db";
const workspaceName = /^[0-9a-f]{12}$/;

/** The folder for everything that an install has prepared but not applied. */
export class Workspace {
  readonly dir: string;
  readonly #place: InstallPlace;
  #owner: Disposable | null;

  private constructor(place: InstallPlace, dir: string) {
    this.#place = place;
    this.dir = dir;
    this.#owner = tryFileLock(join(dir, ownerName));
  }

  /** The caller must have exclusive use of the place. */
  static async open(place: InstallPlace): Promise<Workspace> {
    const dir = join(place.installs, randomBytes(6).toString("hex"));
    await makePrivateDir(dir);
    return new Workspace(place, dir);
  }

  async drop(): Promise<void> {
    this.#owner?.[Symbol.dispose]();
    this.#owner = null;
    await dropFolder(this.dir);
  }

  /**
   * Applies the changes and drops the workspace. If it throws, the place is unchanged. `swaps` name folders of this
   * workspace. The caller must have exclusive use of the place.
   */
  async commit(decision: Decision, changes: Changes, at: Checkpoint): Promise<void> {
    const { root, signer, seal } = this.#place;
    const journal = await this.#prepare(decision, changes);
    await at("decide");
    await refuseChanged(root, journal);
    await writeAtomic(join(this.dir, journalName), signedText(this.dir, journal, signer), { mode: 0o600 });
    try {
      await forward(root, this.dir, journal, at);
      await seal(journal);
    } catch (error) {
      await backward(root, this.dir, journal);
      await this.drop();
      throw error;
    }
    await at("sealed");
    await this.drop();
  }

  async #prepare(decision: Decision, changes: Changes): Promise<Journal> {
    const { root } = this.#place;
    const folders: FolderStep[] = [];
    for (const [index, { target, prepared }] of changes.swaps.entries()) {
      const slot = `folder-${index}`;
      if (prepared !== null) await rename(join(this.dir, prepared), join(this.dir, `${slot}.new`));
      const replaces = await exists(join(root, target));
      folders.push({ target, slot, replaces, brings: prepared !== null });
    }
    const files: FileStep[] = [];
    for (const [index, { path, before, after, mode }] of changes.files.entries()) {
      const slot = `file-${index}`;
      if (before !== null) await writeFile(join(this.dir, `${slot}.old`), before, { flush: true });
      if (after !== null) await writeFile(join(this.dir, `${slot}.new`), after, { flush: true });
      files.push({ path, mode, before: hashOf(before), after: hashOf(after), slot });
    }
    const targets = [...folders.map(({ target }) => target), ...files.map(({ path }) => path)];
    return { ...decision, folders, files, made: await missingFolders(root, targets) };
  }
}

/**
 * Completes or rolls back what killed processes left. The caller must have exclusive use of the place. Returns
 * descriptions of what was done.
 */
export async function recoverWorkspaces(place: InstallPlace): Promise<string[]> {
  const done: string[] = [];
  for (const dir of await workspaces(place)) {
    const journal = await readJournal(dir, place);
    if (journal === "foreign") {
      const aside = `${dir}.refused`;
      await rename(dir, aside);
      done.push(`an install in ${aside} was not carried out: your key did not sign it`);
      continue;
    }
    // A commit needs exclusive use, so a journal is never that of a running commit.
    if (journal !== null) done.push(await settle(place, dir, journal));
    else if (isOwned(dir)) continue;
    await dropFolder(dir);
  }
  return done;
}

/** Whether there is something to recover. */
export async function hasLeftovers(place: InstallPlace): Promise<boolean> {
  return (await workspaces(place)).length > 0;
}

/** Whether the process that prepares the workspace still lives. */
function isOwned(dir: string): boolean {
  try {
    using free = tryFileLock(join(dir, ownerName));
    return free === null;
  } catch {
    // Something else is in the lock's place, so no process of Aegis holds it.
    return false;
  }
}

async function settle({ root, seal }: InstallPlace, dir: string, journal: Journal): Promise<string> {
  const { plugin, skill, action } = journal;
  const what = plugin === undefined ? `skill "${skill}"` : `plugin "${plugin}"`;
  try {
    await forward(root, dir, journal, () => {});
    await seal(journal);
    return `finished the ${action} of ${what}, which was interrupted`;
  } catch (error) {
    await backward(root, dir, journal);
    return `reverted the ${action} of ${what}, which was interrupted: ${errorText(error)}`;
  }
}

/** Deletes the journal first: a folder without one is known to be garbage. */
async function dropFolder(dir: string): Promise<void> {
  await rm(join(dir, journalName), { force: true });
  await rm(dir, { recursive: true, force: true });
}

/** The signature covers the name of the folder, because a journal refers to the content beside it. */
function signedText(dir: string, journal: Journal, signer: InstallPlace["signer"]): string {
  const proof = signer.sign(signedPart(dir, journal));
  return `${JSON.stringify({ ...journal, proof })}\n`;
}

/** Parsing with the schema normalizes the key order. */
function signedPart(dir: string, journal: Journal): string {
  return `${basename(dir)}\n${JSON.stringify(journalSchema.parse(journal))}`;
}

async function readJournal(dir: string, { signer }: InstallPlace): Promise<Journal | "foreign" | null> {
  try {
    const value: unknown = JSON.parse(await readFile(join(dir, journalName), "utf8"));
    const journal = journalSchema.parse(value);
    const proof = typeof value === "object" && value !== null && "proof" in value ? value.proof : null;
    return signer.verifies(proof, signedPart(dir, journal)) ? journal : "foreign";
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw new AegisError("internal", `${join(dir, journalName)} cannot be read: ${errorText(error)}`, {
      hint: "an install was interrupted there; inspect the folder, then remove it",
      cause: error,
    });
  }
}

async function workspaces({ installs }: InstallPlace): Promise<string[]> {
  const entries = await readdir(installs, { withFileTypes: true }).catch(ifMissing([]));
  return entries
    .filter((entry) => entry.isDirectory() && workspaceName.test(entry.name))
    .map((entry) => join(installs, entry.name));
}

async function missingFolders(root: string, paths: readonly string[]): Promise<string[]> {
  const missing = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder))
      if (!(await exists(join(root, folder)))) missing.add(folder);
  }
  return [...missing].sort((a, b) => a.length - b.length);
}

/** Applies the changes of a journal; `backward` rolls them back. Both are idempotent and resume from any point. */
async function forward(root: string, dir: string, journal: Journal, at: Checkpoint): Promise<void> {
  await refuseChanged(root, journal);
  for (const folder of journal.made) await mkdir(join(root, folder), { recursive: true });
  for (const step of journal.folders) await swapForward(root, dir, step, at);
  for (const step of journal.files) {
    await at(`file ${step.path}`);
    await putFile(root, step, step.after === null ? null : join(dir, `${step.slot}.new`));
  }
  await at("done");
}

/** Idempotent; resumes from any point. */
async function swapForward(root: string, dir: string, step: FolderStep, at: Checkpoint): Promise<void> {
  const target = join(root, step.target);
  const [old, next] = [join(dir, `${step.slot}.old`), join(dir, `${step.slot}.new`)];
  if (step.replaces && !(await exists(old))) {
    await at(`away ${step.target}`);
    await move(target, old);
  }
  if (step.brings && (await exists(next))) {
    await at(`in ${step.target}`);
    await move(next, target);
  }
}

/** Throws only on system errors; the journal then stays, and the next command retries. */
async function backward(root: string, dir: string, journal: Journal): Promise<void> {
  for (const step of [...journal.files].reverse()) {
    const now = hashOf(await contentOf(join(root, step.path)));
    if (now === step.after) await putFile(root, step, step.before === null ? null : join(dir, `${step.slot}.old`));
  }
  for (const step of [...journal.folders].reverse()) {
    const target = join(root, step.target);
    const [old, next] = [join(dir, `${step.slot}.old`), join(dir, `${step.slot}.new`)];
    const arrived = step.brings && !(await exists(next)) && (await exists(target));
    if (arrived && (!step.replaces || (await exists(old)))) await move(target, next);
    if (step.replaces && (await exists(old))) await move(old, target);
  }
  for (const folder of [...journal.made].reverse()) {
    await rmdir(join(root, folder)).catch((error: unknown) => {
      if (!isErrno(error, "ENOENT", "ENOTEMPTY", "EEXIST")) throw error;
    });
  }
}

async function putFile(root: string, step: FileStep, from: string | null): Promise<void> {
  const path = join(root, step.path);
  if (from === null) {
    await rm(path, { force: true });
    await syncFolder(dirname(path));
    return;
  }
  await writeAtomic(path, await readFile(from), { mode: step.mode });
  // The replacement is a new file, so the umask would apply to it.
  await chmod(path, step.mode);
}

/** Does not overwrite a file that changed in the meantime. */
async function refuseChanged(root: string, journal: Journal): Promise<void> {
  for (const { path, before, after } of journal.files) {
    const now = hashOf(await contentOf(join(root, path)));
    if (now !== before && now !== after)
      throw new AegisError("conflict", `${path} was changed during the ${journal.action}`, {
        hint: "nothing was changed; try again",
      });
  }
}

async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, "EXDEV")) throw error;
    throw new AegisError("unavailable", `${to} is on a different file system from ${from}`, {
      hint: "packages are put in place by renaming; keep .aegis on one file system",
      cause: error,
    });
  }
  await syncFolder(dirname(to));
  await syncFolder(dirname(from));
}

async function contentOf(path: string): Promise<Uint8Array | null> {
  return readFile(path).catch(ifMissing(null));
}

function hashOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : createHash("sha256").update(bytes).digest("hex");
}
