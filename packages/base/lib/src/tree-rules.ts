/**
 * Rules for third-party file trees, checked before anything is written: names that stay inside the folder, and limits.
 */

export type TreeLimits = {
  files: number;
  /** Total size of all files. */
  bytes: number;
  fileBytes: number;
  /** Maximum number of folders above a file. */
  depth: number;
};

export const defaultTreeLimits: TreeLimits = { files: 2000, bytes: 50 << 20, fileBytes: 10 << 20, depth: 16 };

export type TreeProblem =
  | "not_a_tree"
  | "outside"
  | "bad_name"
  | "collision"
  | "link"
  | "special_file"
  | "encrypted"
  | "unsupported"
  | "too_many"
  | "too_large"
  | "too_deep"
  | "ratio";

/** The whole tree is refused. `path` is the offending entry, or null if the tree as a whole is at fault. */
export class TreeRefused extends Error {
  override readonly name = "TreeRefused";
  readonly problem: TreeProblem;
  readonly path: string | null;

  constructor(problem: TreeProblem, path: string | null, message: string, cause?: unknown) {
    super(path === null ? message : `${quoted(path)}: ${message}`, cause === undefined ? undefined : { cause });
    this.problem = problem;
    this.path = path;
  }
}

export interface TreeGuard {
  /** Splits a folder path into parts. Paths are relative and use `/`. Throws `TreeRefused`. */
  folder(path: string): string[];
  /** Same for a file. Its size counts against the limits. */
  file(path: string, size: number): string[];
  readonly files: number;
  readonly bytes: number;
}

/**
 * Checks one tree entry by entry. A name must also not collide with an earlier one, because two names can refer to one
 * file on other file systems.
 */
export function createTreeGuard(limits: TreeLimits): TreeGuard {
  const kinds = new Map<string, { path: string; kind: "file" | "folder" }>();
  let files = 0;
  let bytes = 0;

  function claim(path: string, kind: "file" | "folder"): void {
    const key = foldedName(path);
    const before = kinds.get(key);
    if (before === undefined) kinds.set(key, { path, kind });
    else if (kind === "file" || before.kind === "file" || before.path !== path)
      throw new TreeRefused("collision", path, `is the same name as ${quoted(before.path)}`);
  }

  function parts(path: string): string[] {
    const names = safeParts(path);
    if (names.length - 1 > limits.depth)
      throw new TreeRefused("too_deep", path, `is more than ${limits.depth} folders deep`);
    for (let end = 1; end < names.length; end++) claim(names.slice(0, end).join("/"), "folder");
    return names;
  }

  function countEntry(path: string): void {
    if (kinds.size > limits.files * 2) throw new TreeRefused("too_many", path, `more than ${limits.files * 2} entries`);
  }

  return {
    folder(path) {
      const names = parts(path);
      claim(names.join("/"), "folder");
      countEntry(path);
      return names;
    },
    file(path, size) {
      const names = parts(path);
      claim(names.join("/"), "file");
      countEntry(path);
      files++;
      bytes += size;
      if (files > limits.files) throw new TreeRefused("too_many", path, `more than ${limits.files} files`);
      if (size > limits.fileBytes) throw new TreeRefused("too_large", path, `more than ${limits.fileBytes} bytes`);
      if (bytes > limits.bytes) throw new TreeRefused("too_large", null, `more than ${limits.bytes} bytes altogether`);
      return names;
    },
    get files() {
      return files;
    },
    get bytes() {
      return bytes;
    },
  };
}

/** Splits a relative path. Throws if it leaves its folder or if another system would read it differently. */
export function safeParts(path: string): string[] {
  const names = path.replace(/\/$/, "").split("/");
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path)) throw new TreeRefused("outside", path, "is an absolute path");
  if (path.includes("\\")) throw new TreeRefused("bad_name", path, "holds a backslash");
  for (const name of names) {
    if (name === "..") throw new TreeRefused("outside", path, "leaves its folder through `..`");
    if (name === "" || name === ".") throw new TreeRefused("bad_name", path, "contains an empty name");
    if (isControlled(name)) throw new TreeRefused("bad_name", path, "contains control or direction characters");
    if (Buffer.byteLength(name) > 255) throw new TreeRefused("bad_name", path, "contains a name over 255 bytes");
    if (/[:<>"|?*]/.test(name) || /[. ]$/.test(name) || reservedName.test(name))
      throw new TreeRefused("bad_name", path, "contains a name that not every system can store");
  }
  return names;
}

const reservedName = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i;

function isControlled(name: string): boolean {
  return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(name);
}

/**
 * File systems differ in case sensitivity and Unicode normalization. Names that any of them treats as equal are equal
 * here.
 */
function foldedName(path: string): string {
  return path.normalize("NFKC").toLowerCase();
}

function quoted(path: string): string {
  return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
