/**
 * The built-in gate. A call that would write to the files that decide what Aegis and its agents may do needs a person's
 * approval, regardless of the agent's permission and of plugins.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { ToolKind } from "@aegis/contract/turn.ts";
import type { ToolUse } from "@aegis/drivers/driver.ts";
import { isErrno, isInside } from "@aegis/lib/files.ts";
import { projectIn } from "@aegis/lib/git/repository.ts";
import type { Store } from "@aegis/store/store.ts";
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

/**
 * `matters` checks the whole text of the call; without it every write counts. `filesOnly`: a command may name it.
 * `decides` replaces what the file decides.
 */
export type GuardedPath = {
  path: string;
  matters?: (text: string) => boolean;
  filesOnly?: true;
  decides?: string;
};

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

/** The values of these keys are file content, not file names. In an unknown tool they can be both. */
const contentKeys =
  /^(?:content|contents|text|body|data|message|prompt|description|title|reason|explanation|diff|before|after|input|old_?(?:text|str|string)|new_?(?:text|str|string|source)|file_?text|insert_?text|pattern|query|replacement)$/i;

export function createFileGuard(options: FileGuardOptions): FileGuard {
  const { root, home, onlyReads } = options;
  const below = (base: string) => (guarded: GuardedPath) => ({ ...guarded, base, place: join(base, guarded.path) });
  const always = [...options.project.map(below(root)), ...options.user.map(below(home))];

  return async ({ kind, input, paths = [] }, own, folder = null) => {
    if (kind === "read" || kind === "search" || kind === "fetch" || kind === "think") return null;
    const said = JSON.stringify(input) ?? "";
    const places = folder === null ? always : [...options.project.map(below(folder)), ...always];
    const guarded = places.filter(({ matters }) => matters?.(said) ?? true);
    const { texts, files } = partsOf(input, kind);
    const cwd = cwdOf(input, folder ?? root);
    const given = commandsOf(input, kind);
    const commands = given.filter((command) => !onlyReads(command, cwd, folder ?? root));
    if (kind === "execute" && commands.length === 0 && given.length > 0) return null;
    for (const command of commands) {
      const decision = decidingCommand(command);
      if (decision !== null) return `it runs \`${decision}\`, which only a person may decide`;
      const shorter = [...own, ...(folder === null ? [] : [folder]), root].reduce(
        (text, folder) => text.replaceAll(folder, "."),
        command,
      );
      const named = guarded.filter(({ filesOnly }) => filesOnly !== true);
      const path = mentionedPath(
        shorter,
        named.map((one) => one.path),
      );
      const found = named.find((one) => one.path === path);
      if (found !== undefined) return `the command names ${path}, ${consequence(found)}`;
    }
    const marked = await Promise.all(
      guarded.map(async (one) => ({
        ...one,
        places: [folded(one.place), folded(await realOf(one.place))],
        top: folded(one.base),
      })),
    );
    const all = new Set([...paths, ...files, ...texts.flatMap(patchedFiles)]);
    if (all.size > mostPaths) return `it may write to ${all.size} files, too many to check`;
    for (const path of all) {
      const named = absolute(path, cwd, home);
      if (named.length > longestPath) continue;
      const real = await realOf(named);
      if (own.some((folder) => isInside(folder, real))) continue;
      const spellings = [folded(named), folded(real)];
      const found = marked.find(({ places, top }) => {
        if (places.some((place) => spellings.some((one) => isBelow(place, one)))) return true;
        // An edit of a folder moves or deletes it, with the guarded files in it.
        return kind === "edit" && spellings.some((one) => isBelow(one, places[0]) && !isBelow(one, top));
      });
      if (found !== undefined)
        return `it may write to ${shown(found.place, folder ?? root, home)}, ${consequence(found)}`;
    }
    return null;
  };
}

function consequence({ decides = "what Aegis and its agents may do" }: GuardedPath): string {
  return `which decides ${decides}`;
}

/** The texts that a shell or an interpreter receives. Of a tool that does more, only what is a command by its name. */
function commandsOf(input: unknown, kind: ToolKind): string[] {
  const found: string[] = [];
  const visit = (value: unknown, isCode: boolean): void => {
    if (typeof value === "string") {
      if (isCode) found.push(value);
    } else if (Array.isArray(value)) {
      if (isCode && value.every((one) => typeof one === "string")) found.push(value.join(" "));
      else for (const one of value) visit(one, isCode);
    } else if (typeof value === "object" && value !== null)
      for (const [key, one] of Object.entries(value))
        if (kind !== "execute") visit(one, isCode || commandKeys.test(key));
        else if (!contentKeys.test(key) || codeKeys.test(key)) visit(one, true);
  };
  visit(input, kind === "execute");
  return found;
}

const commandKeys = /^(?:commands?|cmd|script|shell|code|args|argv|arguments)$/i;

/** The values of these keys are executed here, but are content in other tools. */
const codeKeys = /^(?:input|data|text|content|body)$/i;

/** The system opens no longer path. */
const longestPath = 4096;
/** Resolving more would take seconds. */
const mostPaths = 5_000;

/** The strings of an input as texts, and those that can be file names. */
function partsOf(input: unknown, kind: ToolKind): { texts: string[]; files: string[] } {
  const texts: string[] = [];
  const files: string[] = [];
  const visit = (value: unknown, key: string): void => {
    if (typeof value === "string") {
      texts.push(value);
      // A long path, or one with a line break, can name a guarded file once `..` and `.` are resolved.
      if (kind === "other" || !contentKeys.test(key)) files.push(value);
    } else if (Array.isArray(value)) for (const one of value) visit(one, key);
    else if (typeof value === "object" && value !== null)
      for (const [name, one] of Object.entries(value)) {
        // A map of changes by path.
        if (/[/.]/.test(name)) files.push(name);
        visit(one, name);
      }
  };
  visit(input, "");
  return { texts, files };
}

/** The files that a patch in a text changes, in the notation of agents, of diff and of git. */
function patchedFiles(text: string): string[] {
  return [...text.matchAll(patchMarks)].flatMap(([, rest = ""]) => {
    const [path = ""] = rest.split("\t");
    // One line of git names both files.
    const names = [path, ...path.split(/\s(?="?[ab]\/)/)].map((name) => name.trim().replace(/^"|"$/g, ""));
    return names.flatMap((name) => [name, name.replace(/^[ab]\//, "")]);
  });
}

const patchMarks =
  /^[ \t]*(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) |diff --git |(?:rename|copy) (?:from|to) )(.+)$/gm;

function cwdOf(input: unknown, root: string): string {
  const given = typeof input === "object" && input !== null && "cwd" in input ? input.cwd : null;
  return typeof given === "string" ? resolve(root, given) : root;
}

function absolute(path: string, cwd: string, home: string): string {
  const plain = /^file:/i.test(path) ? pathOfUrl(path) : path;
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

/** Of folded paths. */
function isBelow(above = "", below = ""): boolean {
  return below === above || below.startsWith(above + sep);
}

/** Some file systems ignore case or Unicode normalization in names, so comparisons do too. */
function folded(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}

function shown(place: string, root: string, home: string): string {
  if (isInside(root, place)) return place.slice(root.length + 1);
  return isInside(home, place) ? `~/${place.slice(home.length + 1)}` : place;
}
