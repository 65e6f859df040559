/** Builds the built-in gate: the list of files that decide what Aegis and its agents may do. */
import { basename } from "node:path";
import { harnesses } from "@aegis/drivers/all.ts";
import { plainReading, readWords } from "@aegis/drivers/codex/plain-reading.ts";
import { createFileGuard, type FileGuard, type GuardedPath, type SecretPath } from "@aegis/hooks/file-guard.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { localFileName } from "@aegis/project/config/files.ts";
import { harnessPaths } from "@aegis/project/trust/harness-files.ts";

/** Project files in addition to harness settings. */
const ownPaths = [".aegis", configFileName, localFileName];
/** Whoever writes here lets the next git command of the user start a program. Commands of git write the rest. */
const gitPaths: readonly GuardedPath[] = [
  ...[".git/hooks", ".git/config", ".git/config.worktree", ".git/modules"].map((path) => ({ path })),
  { path: ".git", filesOnly: true as const },
].map((guarded) => ({ ...guarded, decides: "which programs git runs" }));
/** Programs of the user start programs from these by themselves: git, the shell with direnv, and VS Code. */
const startPaths: readonly GuardedPath[] = [".husky", ".envrc", ".vscode/tasks.json"].map((path) => ({
  path,
  decides: "which programs start by themselves",
}));
/** Files of the user. Harnesses may freely write the rest of their folders, such as plans and transcripts. */
export const userPaths: readonly string[] = [".aegis", ...new Set(harnesses.flatMap(({ userFiles }) => userFiles))];

/**
 * With the token, the key and the records in these folders a program acts as the user. Aegis tells agents the paths of
 * files in the parts that are open.
 */
const projectSecrets: readonly SecretPath[] = [
  { path: ".aegis/state", open: ["overflow", "attachments", "channel-files"] },
];
const userSecrets: readonly SecretPath[] = [{ path: ".aegis", open: ["skills", "plugins", "agents", "commands"] }];

/** `guarded` are the project paths in which every write counts. */
export function buildFileGuard(root: string, env: Environment): { guard: FileGuard; guarded: readonly string[] } {
  const project: GuardedPath[] = [...ownPaths.map((path) => ({ path })), ...harnessPaths, ...gitPaths, ...startPaths];
  const guard = createFileGuard({
    root,
    home: homeOf(env),
    project,
    user: userPaths.map((path) => ({ path })),
    projectSecrets,
    userSecrets,
    reads(command, cwd, folder) {
      const reading = plainReading(command, cwd, folder);
      return reading === null ? null : { files: readWords(command), isSearch: reading === "grep" };
    },
    daemon: {
      pid: process.pid,
      // Node names its main thread so, and some systems show that name.
      names: [...new Set([basename(process.execPath), process.title, "MainThread"])],
      commandLine: [process.execPath, ...process.argv.slice(1)].join(" "),
    },
  });
  const always = project.filter(({ matters, filesOnly }) => matters === undefined && filesOnly === undefined);
  return { guard, guarded: always.map(({ path }) => path) };
}
