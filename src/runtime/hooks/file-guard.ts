/**
 * The built-in gate. A call that would write to the files that decide what Aegis and its agents may do needs a person's
 * approval, regardless of the agent's permission and of plugins.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { SessionId } from "../../contract/ids.ts";
import type { ToolUse } from "../../drivers/driver.ts";
import { isErrno, isInside } from "../../lib/files.ts";
import { projectIn } from "../../lib/git/repository.ts";
import type { Store } from "../../store/store.ts";
import { decidingCommand, mentionedPath } from "./command-mentions.ts";

export type FileGuardOptions = {
  /** The project's real path. */
  root: string;
  home: string;
  /** Relative to the project, and to the user's home folder. */
  project: readonly GuardedPath[];
  user: readonly GuardedPath[];
  /** True if a command only displays files of the project. */
  onlyReads: (command: string, cwd: string, root: string) => boolean;
};

/** `matters` checks the whole text of the call; without it every write counts. */
export type GuardedPath = { path: string; matters?: (text: string) => boolean };

/**
 * The reason why a call needs approval, or null. `own` are folders in which the session may write freely. `folder` is
 * the session's worktree, in which the same files count as in the project.
 */
export type FileGuard = (use: ToolUse, own: readonly string[], folder?: string | null) => Promise<string | null>;

/** The folder of a session's worktree for the guard, or null. */
export async function worktreeFolder(
  { read }: Pick<Store, "read">,
  session: SessionId,
  projectRoot: string,
): Promise<string | null> {
  const dir = (await read.worktrees.get(session))?.dir ?? null;
  return dir === null ? null : projectIn(dir, projectRoot);
}

/** The values of these keys are file content, not file names. */
const contentKeys =
  /^(?:content|contents|text|body|data|message|prompt|description|title|reason|explanation|diff|before|after|input|old_?(?:text|str|string)|new_?(?:text|str|string|source)|file_?text|insert_?text|pattern|query|replacement)$/i;
const longestPath = 4096;
const deepest = 8;

export function createFileGuard(options: FileGuardOptions): FileGuard {
  const { root, home, onlyReads } = options;
  const below = (base: string) => (guarded: GuardedPath) => ({ ...guarded, place: join(base, guarded.path) });
  const all = [...options.project.map(below(root)), ...options.user.map(below(home))];

  return async ({ kind, input, paths = [] }, own, folder = null) => {
    if (kind === "read" || kind === "search" || kind === "fetch" || kind === "think") return null;
    const said = JSON.stringify(input) ?? "";
    const places = folder === null ? all : [...options.project.map(below(folder)), ...all];
    const guarded = places.filter(({ matters }) => matters?.(said) ?? true);
    const { texts, files } = partsOf(input);
    const cwd = cwdOf(input, folder ?? root);
    if (kind === "execute") {
      const commands = commandsOf(input).filter((command) => !onlyReads(command, cwd, folder ?? root));
      if (commands.length === 0 && commandsOf(input).length > 0) return null;
      for (const command of commands) {
        const decision = decidingCommand(command);
        if (decision !== null) return `it runs \`${decision}\`, which only a person may decide`;
        const shorter = [...own, ...(folder === null ? [] : [folder]), root].reduce(
          (text, folder) => text.replaceAll(folder, "."),
          command,
        );
        const path = mentionedPath(
          shorter,
          guarded.map((one) => one.path),
        );
        if (path !== null) return `the command names ${path}, ${consequence}`;
      }
    }
    const realPlaces = await Promise.all(guarded.map(({ place }) => realOf(place)));
    for (const path of [...paths, ...files, ...texts.flatMap(patchedFiles)]) {
      const named = absolute(path, cwd, home);
      const real = await realOf(named);
      if (own.some((folder) => isInside(folder, real))) continue;
      const found = guarded.find(({ place }, at) => {
        return isBelow(place, named) || isBelow(place, real) || isBelow(realPlaces[at] ?? place, real);
      });
      if (found !== undefined) return `it may write to ${shown(found.place, folder ?? root, home)}, ${consequence}`;
    }
    return null;
  };
}

const consequence = "which decides what Aegis and its agents may do";

/** The texts that a shell or an interpreter receives. */
function commandsOf(input: unknown): string[] {
  const found: string[] = [];
  const visit = (value: unknown, isCode: boolean): void => {
    if (typeof value === "string") {
      if (isCode) found.push(value);
    } else if (Array.isArray(value)) {
      if (isCode && value.every((one) => typeof one === "string")) found.push(value.join(" "));
      else for (const one of value) visit(one, isCode);
    } else if (typeof value === "object" && value !== null)
      for (const [key, one] of Object.entries(value))
        if (!contentKeys.test(key) || codeKeys.test(key)) visit(one, true);
  };
  visit(input, true);
  return found;
}

/** The values of these keys are executed here, but are content in other tools. */
const codeKeys = /^(?:input|data|text|content|body)$/i;

/** Splits the strings of an input into possible file names and texts. */
function partsOf(input: unknown): { texts: string[]; files: string[] } {
  const texts: string[] = [];
  const files: string[] = [];
  const visit = (value: unknown, key: string, depth: number): void => {
    if (depth > deepest) return;
    if (typeof value === "string") {
      if (contentKeys.test(key) || value.length > longestPath || /[\n\0]/.test(value)) texts.push(value);
      else files.push(value);
    } else if (Array.isArray(value)) for (const one of value) visit(one, key, depth + 1);
    else if (typeof value === "object" && value !== null)
      for (const [name, one] of Object.entries(value)) {
        // A map of changes by path.
        if (/[/.]/.test(name)) files.push(name);
        visit(one, name, depth + 1);
      }
  };
  visit(input, "", 0);
  return { texts, files };
}

/** The files that a patch in a text changes. */
function patchedFiles(text: string): string[] {
  const marks = /^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) (?:[ab]\/)?)(.+?)\s*$/gm;
  return [...text.matchAll(marks)].map(([, path = ""]) => path);
}

function cwdOf(input: unknown, root: string): string {
  const given = typeof input === "object" && input !== null && "cwd" in input ? input.cwd : null;
  return typeof given === "string" ? resolve(root, given) : root;
}

function absolute(path: string, cwd: string, home: string): string {
  const plain = path.startsWith("file:") ? pathOfUrl(path) : path;
  return resolve(cwd, plain.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, home));
}

function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return url;
  }
}

/** Resolves links as far as the path exists. */
async function realOf(path: string): Promise<string> {
  const missing: string[] = [];
  for (let probe = path; ; probe = dirname(probe)) {
    try {
      return join(await realpath(probe), ...missing);
    } catch (error) {
      if (!isErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EACCES") || dirname(probe) === probe) return path;
      missing.unshift(basename(probe));
    }
  }
}

/** Some file systems ignore case or Unicode normalization in names, so this comparison does too. */
function isBelow(place: string, path: string): boolean {
  const [above, below] = [folded(place), folded(path)];
  return below === above || below.startsWith(above + sep);
}

export function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function shown(place: string, root: string, home: string): string {
  if (isInside(root, place)) return place.slice(root.length + 1);
  return isInside(home, place) ? `~/${place.slice(home.length + 1)}` : place;
}
