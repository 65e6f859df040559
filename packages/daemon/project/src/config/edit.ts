/**
 * Edits a config file. Aegis validates the complete configuration with the change before it replaces the file; an
 * invalid change leaves every file untouched. A lock serializes writers in different processes.
 */
import { chmod, mkdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { configFileName, stateDir } from "@aegis/lib/daemon-file.ts";
import { containedPath, isErrno, writeAtomic } from "@aegis/lib/files.ts";
import type { Document } from "yaml";
import { decodeText } from "./decode.ts";
import { type ConfigFiles, describeFile, diskFiles } from "./files.ts";
import { type LoadedConfig, loadProject } from "./load.ts";
import { type LockOptions, withLock } from "./lock.ts";
import { type ConfigProblem, formatProblem } from "./problem.ts";
import type { KnownNames } from "./references.ts";
import { parseYaml } from "./source.ts";
import { spliceChanges } from "./splice.ts";

export type EditOptions = KnownNames & {
  root: string;
  /**
   * Relative to the root. Defaults to `.aegis.yaml`; may be the local file or an overlay. Created if it does not exist.
   */
  file?: string;
  change: (document: Document) => void;
  lock?: LockOptions;
};

export type EditedConfig = { file: string; changed: boolean; loaded: LoadedConfig };

/** Throws `invalid` with the problems in `details` if the configuration would be invalid, and writes nothing. */
export async function editConfig(options: EditOptions): Promise<EditedConfig> {
  return replaceFile(options, (text) => edited(text, options.change));
}

export type PreviewOptions = KnownNames & {
  root: string;
  file: string;
  /** Null deletes the file. */
  change: ((document: Document) => void) | null;
  /** The files as they are on disk, or as earlier changes of a plan will leave them. */
  files: ConfigFiles;
};

/** Returns the content that the file would have. Throws `invalid` like an edit. Writes nothing and takes no lock. */
export async function previewEdit(options: PreviewOptions): Promise<Uint8Array | null> {
  const { root, file, change, files } = options;
  if (describeFile(file) === null) throw notConfigFile(file);
  const path = join(root, file);
  const old = await readText(path, files);
  const { bytes } = await planFile(options, file, path, old?.text ?? "", (text) =>
    change === null ? null : edited(text, change),
  );
  return bytes;
}

/** Deletes an overlay file with the same validation. */
export async function removeOverlay(
  options: Omit<EditOptions, "change" | "file"> & { file: string },
): Promise<EditedConfig> {
  if (describeFile(options.file)?.kind !== "overlay") throw notConfigFile(options.file);
  return replaceFile(options, () => null);
}

/** The local file may contain secrets, so only its owner may read it. */
const privateMode = 0o600;

type Target = Omit<EditOptions, "change">;

function edited(text: string, change: (document: Document) => void): string {
  const before = parseYaml(text);
  const after = parseYaml(text);
  if (before.errors.length > 0) return text;
  change(after);
  return spliceChanges(text, before, after);
}

/** Returns the new content of the file after validating the complete configuration with it. */
async function planFile(
  target: KnownNames & { root: string; files: ConfigFiles },
  file: string,
  path: string,
  text: string,
  next: (text: string) => string | null,
): Promise<{ bytes: Buffer | null; loaded: LoadedConfig }> {
  const layout = layoutOf(text);
  const result = next(layout.plain);
  const bytes = result === null ? null : Buffer.from(layout.restore(result));
  const loaded = await loadProject(target.root, target, filesWith(target.files, path, bytes));
  if (loaded.problems.length > 0) throw refused(file, loaded.problems);
  return { bytes, loaded };
}

async function replaceFile(target: Target, next: (text: string) => string | null): Promise<EditedConfig> {
  const { root, file = configFileName } = target;
  if (describeFile(file) === null) throw notConfigFile(file);
  // Follows a link inside the project; refuses one that leaves it.
  const path = await containedPath(root, file);
  const folder = await containedPath(root, relative(root, stateDir(root)));
  if (path === null || folder === null) throw outside(file);
  return withLock(folder, () => replaceLocked(target, file, path, next), target.lock);
}

async function replaceLocked(
  target: Target,
  file: string,
  path: string,
  next: (text: string) => string | null,
): Promise<EditedConfig> {
  const { root } = target;
  const old = await readOld(path);
  const as = { ...target, files: diskFiles };
  const { bytes, loaded } = await planFile(as, file, join(root, file), old?.text ?? "", next);
  if (bytes === null) {
    await rm(path);
    return { file, changed: true, loaded };
  }
  if (old?.bytes.equals(bytes)) return { file, changed: false, loaded };
  await mkdir(dirname(path), { recursive: true });
  const mode = describeFile(file)?.kind === "local" ? privateMode : old?.mode;
  await writeAtomic(path, bytes, { mode: mode ?? 0o644 });
  // The replacement is a new file, so the umask would apply to it.
  if (mode !== undefined) await chmod(path, mode);
  return { file, changed: true, loaded };
}

async function readOld(path: string): Promise<{ bytes: Buffer; text: string; mode: number } | null> {
  const old = await readText(path, diskFiles);
  return old === null ? null : { ...old, mode: (await stat(path)).mode % 0o1000 };
}

async function readText(path: string, files: ConfigFiles): Promise<{ bytes: Buffer; text: string } | null> {
  try {
    const bytes = Buffer.from(await files.read(path));
    const decoded = decodeText(bytes);
    if (!("text" in decoded))
      throw new AegisError("invalid", `${basename(path)}:${decoded.at.line}: ${decoded.message}`);
    // Decodes the bytes again to keep the byte order mark.
    return { bytes, text: bytes.toString("utf8") };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

const byteOrderMark = "\uFEFF";

/** Normalizes line endings and strips the byte order mark for the edit; `restore` puts both back. */
function layoutOf(text: string): { plain: string; restore(text: string): string } {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : "";
  const crlf = text.includes("\r\n");
  const plain = text.slice(mark.length);
  return {
    plain: crlf ? plain.replaceAll("\r\n", "\n") : plain,
    restore: (edited) => mark + (crlf ? edited.replaceAll("\n", "\r\n") : edited),
  };
}

/** A view of the project's files in which one file has other content or does not exist. */
function filesWith(files: ConfigFiles, changed: string, bytes: Uint8Array | null): ConfigFiles {
  return {
    async read(path) {
      if (path !== changed) return files.read(path);
      if (bytes !== null) return bytes;
      throw Object.assign(new Error(`no file ${path}`), { code: "ENOENT" });
    },
    async list(folder) {
      const names = (await files.list(folder)).filter((name) => join(folder, name) !== changed);
      return bytes !== null && dirname(changed) === folder ? [...names, basename(changed)] : names;
    },
  };
}

function refused(file: string, problems: ConfigProblem[]): AegisError {
  const lines = problems.map((problem) => `  ${formatProblem(problem)}`).join("\n");
  return new AegisError("invalid", `${file} was not changed, because the configuration would be wrong:\n${lines}`, {
    details: { problems },
  });
}

function notConfigFile(file: string): AegisError {
  return new AegisError("invalid", `"${file}" is not a config file of the project`, {
    hint: "expected .aegis.yaml, .aegis.local.yaml or .aegis/{agents,queues,schedules,groups}/<name>.yaml",
  });
}

function outside(file: string): AegisError {
  return new AegisError("forbidden", `"${file}" leads out of the project through a link and is not edited`);
}
