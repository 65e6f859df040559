/**
 * Makes a set of changes to a project happen whole or not at all, also when the process is killed. Everything that will
 * be put in place is prepared in a folder beside it; the journal in there is the moment of decision. Without a journal
 * nothing was touched, so the folder is dropped. With one the changes are carried out, again after a crash; what cannot
 * be carried out is taken back.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { AegisError } from "../../../contract/errors.ts";
import { exists, isErrno, makePrivateDir, writeAtomic } from "../../../lib/files.ts";
import { errorText } from "../../../lib/log.ts";
import { backward, forward, hashOf, refuseChanged } from "./carry-out.ts";
import type { PlannedFile } from "./file-plan.ts";

/** A folder that is replaced by a prepared one, or goes away when there is none. Paths are relative to the root. */
export type FolderSwap = { target: string; prepared: string | null };

/** Called before each step, by name. A test stops or kills the process there. */
export type Checkpoint = (step: string) => void | Promise<void>;

const journalSchema = z.object({
  plugin: z.string(),
  action: z.string(),
  folders: z.array(z.object({ target: z.string(), slot: z.string(), replaces: z.boolean(), brings: z.boolean() })),
  files: z.array(
    z.object({
      path: z.string(),
      mode: z.int(),
      /** Hash of the content before and after; null when there is no file. */
      before: z.string().nullable(),
      after: z.string().nullable(),
      slot: z.string(),
    }),
  ),
  /** Folders that have to be made, outermost first. */
  made: z.array(z.string()),
  /** The content that was agreed to; null when the plugin goes. */
  trust: z.string().nullable(),
});
export type Journal = z.infer<typeof journalSchema>;
export type FolderStep = Journal["folders"][number];
export type FileStep = Journal["files"][number];

const journalName = "journal.json";
const workspaceName = /^[0-9a-f]{12}$/;

export type Decision = Pick<Journal, "plugin" | "action" | "trust">;

/** Called once the changes are in place, also for a process that was killed before it could. Safe to repeat. */
export type Seal = (decision: Decision) => Promise<void>;

/** The place for everything an install has not put in place yet. */
export class Workspace {
  readonly root: string;
  readonly dir: string;

  private constructor(root: string, dir: string) {
    this.root = root;
    this.dir = dir;
  }

  static async open(root: string): Promise<Workspace> {
    const dir = join(installsDir(root), randomBytes(6).toString("hex"));
    await makePrivateDir(dir);
    return new Workspace(root, dir);
  }

  /** An empty folder. */
  async folder(name: string): Promise<string> {
    const path = join(this.dir, name);
    await mkdir(path);
    return path;
  }

  async drop(): Promise<void> {
    await dropFolder(this.dir);
  }

  /**
   * Carries the changes out. When it throws, the project is as it was before. `swaps` name folders of this workspace.
   * The caller holds the locks that keep others from the files.
   */
  async commit(
    what: Decision,
    changes: { swaps: readonly FolderSwap[]; files: readonly PlannedFile[] },
    { at, seal }: { at: Checkpoint; seal: Seal },
  ): Promise<void> {
    const journal = await this.#prepare(what, changes);
    await at("decide");
    await refuseChanged(this.root, journal);
    await writeAtomic(join(this.dir, journalName), `${JSON.stringify(journal)}\n`, { mode: 0o600 });
    try {
      await forward(this.root, this.dir, journal, at);
      await seal(journal);
    } catch (error) {
      await backward(this.root, this.dir, journal);
      await dropFolder(this.dir);
      throw error;
    }
    await at("sealed");
    await dropFolder(this.dir);
  }

  async #prepare(
    what: Decision,
    changes: { swaps: readonly FolderSwap[]; files: readonly PlannedFile[] },
  ): Promise<Journal> {
    const folders: FolderStep[] = [];
    for (const [index, { target, prepared }] of changes.swaps.entries()) {
      const slot = `folder-${index}`;
      if (prepared !== null) await rename(join(this.dir, prepared), join(this.dir, `${slot}.new`));
      const replaces = await exists(join(this.root, target));
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
    return { ...what, folders, files, made: await missingFolders(this.root, targets) };
  }
}

/**
 * Brings what a killed process left to an end. The caller makes sure that no other process is at it. Gives what was
 * finished and what was taken back, in words.
 */
export async function recoverWorkspaces(root: string, seal: Seal): Promise<string[]> {
  const done: string[] = [];
  for (const dir of await workspaces(root)) {
    const journal = await readJournal(dir);
    if (journal !== null) done.push(await settle(root, dir, journal, seal));
    await dropFolder(dir);
  }
  return done;
}

/** Whether something was left to bring to an end. */
export async function hasLeftovers(root: string): Promise<boolean> {
  return (await workspaces(root)).length > 0;
}

export function installsDir(root: string): string {
  return join(root, ".aegis", "state", "installs");
}

async function settle(root: string, dir: string, journal: Journal, seal: Seal): Promise<string> {
  const { plugin, action } = journal;
  try {
    await forward(root, dir, journal, () => {});
    await seal(journal);
    return `finished the ${action} of plugin "${plugin}", which had been cut off`;
  } catch (error) {
    await backward(root, dir, journal);
    return `took back the ${action} of plugin "${plugin}", which had been cut off: ${errorText(error)}`;
  }
}

/** The journal goes first: a folder without one is known to be rubbish. */
async function dropFolder(dir: string): Promise<void> {
  await rm(join(dir, journalName), { force: true });
  await rm(dir, { recursive: true, force: true });
}

async function readJournal(dir: string): Promise<Journal | null> {
  try {
    return journalSchema.parse(JSON.parse(await readFile(join(dir, journalName), "utf8")));
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw new AegisError("internal", `${join(dir, journalName)} cannot be read: ${errorText(error)}`, {
      hint: "an install was cut off there; look into the folder, then remove it",
      cause: error,
    });
  }
}

async function workspaces(root: string): Promise<string[]> {
  try {
    const entries = await readdir(installsDir(root), { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && workspaceName.test(entry.name))
      .map((entry) => join(installsDir(root), entry.name));
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

async function missingFolders(root: string, paths: readonly string[]): Promise<string[]> {
  const missing = new Set<string>();
  for (const path of paths) {
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder))
      if (!(await exists(join(root, folder)))) missing.add(folder);
  }
  return [...missing].sort((a, b) => a.length - b.length);
}
