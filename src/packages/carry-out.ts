/** Applies the changes of a journal or rolls them back. Both are idempotent and resume from any point. */
import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AegisError } from "../contract/errors.ts";
import { exists, isErrno, syncFolder, writeAtomic } from "../lib/files.ts";
import type { Checkpoint, FileStep, FolderStep, Journal } from "./journal.ts";

export async function forward(root: string, dir: string, journal: Journal, at: Checkpoint): Promise<void> {
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
export async function backward(root: string, dir: string, journal: Journal): Promise<void> {
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
export async function refuseChanged(root: string, journal: Journal): Promise<void> {
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
    throw new AegisError("unavailable", `${to} is on another file system than ${from}`, {
      hint: "packages are put in place by renaming; keep .aegis on one file system",
      cause: error,
    });
  }
  await syncFolder(dirname(to));
  await syncFolder(dirname(from));
}

async function contentOf(path: string): Promise<Uint8Array | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

export function hashOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : createHash("sha256").update(bytes).digest("hex");
}
