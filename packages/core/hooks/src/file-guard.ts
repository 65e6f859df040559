/**
 * The built-in gate. A call that would write to the files that decide what Aegis and its agents may do, read what gives
 * the rights of the user, or speak as the user needs a person's approval, regardless of the agent's permission and of
 * plugins.
 */
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { ToolUse } from "@aegis/drivers/driver.ts";
import { isErrno, isInside } from "@aegis/lib/files.ts";
import { projectIn } from "@aegis/lib/git/repository.ts";
import type { Store } from "@aegis/store/store.ts";
import { decidingCommand } from "./aegis-commands.ts";
import { mentionedPath } from "./command-mentions.ts";
import { daemonKill, type OwnProcess } from "./daemon-kill.ts";
import { gitProgram } from "./git-programs.ts";
import { commandsOf, partsOf, patchedFiles } from "./guarded-input.ts";

export type FileGuardOptions = {
  /** The project's real path. */
  root: string;
  home: string;
  /** Relative to the project, and to the user's home folder. */
  project: readonly GuardedPath[];
  user: readonly GuardedPath[];
  /** What only a person may read. */
  projectSecrets: readonly SecretPath[];
  userSecrets: readonly SecretPath[];
  /** What a command that only displays files of the project displays; null for any other command. */
  reads: (command: string, cwd: string, root: string) => Reading | null;
  daemon: OwnProcess;
};

/** Except what `open` names below it. */
export type SecretPath = { path: string; open: readonly string[] };

export type Reading = { files: readonly string[]; isSearch: boolean };

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

/** Folders of the session, in which it may write and read freely. */
export type OwnFolders = { writes: readonly string[]; reads: readonly string[] };

export const noOwnFolders: OwnFolders = { writes: [], reads: [] };

/**
 * The reason why a call needs approval, or null. `folder` is the session's worktree, in which the same files count as
 * in the project.
 */
export type FileGuard = (use: ToolUse, own: OwnFolders, folder?: string | null) => Promise<string | null>;

/** The folder of a session's worktree for the guard, or null. */
export async function worktreeFolder(
  { read }: Pick<Store, "read">,
  session: SessionId,
  projectRoot: string,
): Promise<string | null> {
  const dir = (await read.worktrees.get(session))?.dir ?? null;
  return dir === null ? null : projectIn(dir, projectRoot);
}

export function createFileGuard(options: FileGuardOptions): FileGuard {
  const { root, home, reads, daemon } = options;
  const below =
    (base: string) =>
    <P extends { path: string }>(one: P) => ({ ...one, base, place: join(base, one.path) });
  const always = [...options.project.map(below(root)), ...options.user.map(below(home))];
  const secrets = [...options.projectSecrets.map(below(root)), ...options.userSecrets.map(below(home))];

  const readReason = async ({ files, isSearch }: Reading, cwd: string, own: OwnFolders, folder: string | null) => {
    const marked = await Promise.all(secrets.map(async (one) => ({ ...one, ...(await markOf(one)) })));
    if (files.length > mostPaths) return `it may read ${files.length} files, too many to check`;
    for (const path of files) {
      const named = absolute(path, cwd, home);
      if (named.length > longestPath) continue;
      const real = await realOf(named);
      if (own.reads.some((one) => isInside(one, real))) continue;
      const spellings = [folded(named), folded(real)];
      // A pattern can match what no file of this name shows.
      const isPattern = /[*?[{]/.test(path);
      const found = marked.find(({ places, top, open, path: name }) =>
        spellings.some(
          (one) =>
            places.some((place) => isBelow(place, one) && !open.some((part) => isBelow(join(place, part), one))) ||
            (isSearch && isBelow(one, places[0]) && !isBelow(one, top)) ||
            (isPattern && mentionedPath(path, [name]) !== null),
        ),
      );
      if (found !== undefined)
        return `it may read ${shown(found.place, folder ?? root, home)}, which only you may read`;
    }
    return null;
  };

  return async ({ kind, input, paths = [] }, own, folder = null) => {
    const cwd = cwdOf(input, folder ?? root);
    if (kind === "read" || kind === "search" || kind === "fetch" || kind === "think") {
      const files = [...paths, ...partsOf(input, kind).files];
      return readReason({ files, isSearch: kind === "search" }, cwd, own, folder);
    }
    const said = JSON.stringify(input) ?? "";
    const places = folder === null ? always : [...options.project.map(below(folder)), ...always];
    const guarded = places.filter(({ matters }) => matters?.(said) ?? true);
    const { texts, files } = partsOf(input, kind);
    const given = commandsOf(input, kind).map((command) => ({ command, reading: reads(command, cwd, folder ?? root) }));
    for (const { reading } of given) {
      if (reading === null) continue;
      const reason = await readReason({ ...reading, files: [cwd, ...reading.files] }, cwd, own, folder);
      if (reason !== null) return reason;
    }
    const commands = given.flatMap(({ command, reading }) => (reading === null ? [command] : []));
    if (kind === "execute" && commands.length === 0 && given.length > 0) return null;
    for (const command of commands) {
      const decision = decidingCommand(command);
      if (decision !== null) return `it runs \`${decision}\`, which acts as the user`;
      const setting = gitProgram(command);
      if (setting !== null) return `it sets ${setting}, which decides which programs git runs`;
      const kill = daemonKill(command, daemon);
      if (kill !== null) return `it runs \`${kill}\`, which would end the daemon of Aegis`;
      const shorter = [...own.writes, ...(folder === null ? [] : [folder]), root].reduce(
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
    const marked = await Promise.all(guarded.map(async (one) => ({ ...one, ...(await markOf(one)) })));
    const all = new Set([...paths, ...files, ...texts.flatMap(patchedFiles)]);
    if (all.size > mostPaths) return `it may write to ${all.size} files, too many to check`;
    for (const path of all) {
      const named = absolute(path, cwd, home);
      if (named.length > longestPath) continue;
      const real = await realOf(named);
      if (own.writes.some((one) => isInside(one, real))) continue;
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

/** The system opens no longer path. */
const longestPath = 4096;
/** Resolving more would take seconds. */
const mostPaths = 5_000;

async function markOf({ place, base }: { place: string; base: string }): Promise<{ places: string[]; top: string }> {
  return { places: [folded(place), folded(await realOf(place))], top: folded(base) };
}

function consequence({ decides = "what Aegis and its agents may do" }: GuardedPath): string {
  return `which decides ${decides}`;
}

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
