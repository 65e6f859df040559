/**
 * Runs git for Aegis itself: without a shell, with a fixed environment, and with every feature disabled through which a
 * repository's files could make git start a program. `repository.ts` adds the overrides that depend on the repository.
 */
import { stat } from "node:fs/promises";
import { childEnv, type Environment } from "../child-env.ts";
import { isErrno } from "../files.ts";
import { ownConsent } from "../own-consent.ts";
import type { Processes } from "../process.ts";
import { onAbort } from "../until-aborted.ts";

export type GitDeps = {
  processes: Processes;
  /** The daemon's environment. Only the variables that every program needs are passed on. */
  env: Environment;
};

export type GitOptions = {
  /** Written to the standard input of git. */
  input?: string | Uint8Array;
  env?: Readonly<Record<string, string>>;
  /** Exit codes that are not errors; 0 only if absent. */
  codes?: readonly number[];
  /** Reading stops here, and the result is marked as truncated. */
  maxBytes?: number;
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Pathspecs such as `:(exclude)` have their special meaning. Every other call takes paths literally. */
  pathspecs?: boolean;
  /** Git may update the index as a side effect. Only for an index of Aegis: the user's index stays as it is. */
  locks?: boolean;
};

export type GitResult = { stdout: Buffer; code: number; truncated: boolean };

export type GitProblem = "no_git" | "no_repository" | "unsafe" | "timeout" | "failed";

/** A git command that could not run or that failed. */
export class GitRunError extends Error {
  override readonly name = "GitRunError";
  readonly problem: GitProblem;
  readonly stderr: string;

  constructor(problem: GitProblem, message: string, stderr = "", cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.problem = problem;
    this.stderr = stderr;
  }
}

export type RunGit = (cwd: string, args: readonly string[], options?: GitOptions) => Promise<GitResult>;

const defaultTimeoutMs = 30_000;
const defaultMaxBytes = 64 << 20;

/**
 * Each of these could start a program, rewrite the user's index, or change git's output. What stays on starts nothing:
 * end-of-line conversion, ignore rules, attributes as data, `merge=union` and sparse rules. Filters and hooks that are
 * defined in a configuration file are disabled by name in `repository.ts`.
 */
const settings = [
  ...["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=keep", "core.splitIndex=false"],
  ...["core.pager=cat", "core.editor=false", "core.askPass=", "core.sshCommand=false", "core.alternateRefsCommand="],
  ...["core.quotePath=true", "core.longpaths=true", "sequence.editor=false", "credential.helper="],
  ...["diff.autoRefreshIndex=false", "diff.external=", "diff.trustExitCode=false", "diff.renames=true"],
  ...["gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "tag.gpgSign=false", "log.showSignature=false"],
  ...["submodule.recurse=false", "fetch.recurseSubmodules=false", "uploadpack.packObjectsHook=", "merge.renames=true"],
  ...["advice.addEmbeddedRepo=false", "advice.detachedHead=false", "color.ui=false"],
].flatMap((setting) => ["-c", setting]);

const fixedEnv = {
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "false",
  SSH_ASKPASS: "false",
  GIT_SSH_COMMAND: "false",
  GIT_EDITOR: "false",
  GIT_PAGER: "cat",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_NO_LAZY_FETCH: "1",
  GIT_CONFIG_NOSYSTEM: "1",
  // Allows no protocol. An old git ignores `GIT_NO_LAZY_FETCH` and fetches missing objects of a partial clone with a
  // program that the repository's configuration names.
  GIT_ALLOW_PROTOCOL: "none",
};

export function gitRunner({ processes, env }: GitDeps): RunGit {
  return async (cwd, args, options = {}) => {
    const { codes = [0], maxBytes = defaultMaxBytes, timeoutMs = defaultTimeoutMs } = options;
    // For a missing folder the system reports that the program is missing.
    if (!(await isFolder(cwd))) throw new GitRunError("no_repository", `the folder ${cwd} does not exist`);
    const deadline = AbortSignal.timeout(timeoutMs);
    const signal = options.signal === undefined ? deadline : AbortSignal.any([deadline, options.signal]);
    const literal = options.pathspecs === true ? [] : ["--literal-pathspecs"];
    const locks = options.locks === true ? [] : ["--no-optional-locks"];
    const child = await processes
      .start(
        {
          argv: ["git", "--no-pager", ...locks, ...literal, ...settings, ...args],
          cwd,
          env: childEnv(env, ["XDG_CONFIG_HOME"], {
            ...fixedEnv,
            ...(options.locks === true ? { GIT_OPTIONAL_LOCKS: "1" } : {}),
            ...options.env,
          }),
        },
        ownConsent("git"),
      )
      .catch((error: unknown) => {
        if (isErrno(error, "ENOENT"))
          throw new GitRunError("no_git", "git is not installed, or not on PATH", "", error);
        throw error;
      });
    const release = onAbort(signal, () => void child.stop({ graceMs: 500 }));
    try {
      // Even an empty text would be written, and fail where git has ended before.
      child.stdin.end(options.input);
      const chunks: Uint8Array[] = [];
      let size = 0;
      let truncated = false;
      for await (const chunk of child.stdout) {
        chunks.push(chunk);
        size += chunk.length;
        if (size <= maxBytes) continue;
        truncated = true;
        break;
      }
      if (truncated) await child.stop({ graceMs: 200 });
      const { code } = await child.exited;
      options.signal?.throwIfAborted();
      const what = `git ${args.find((arg) => !arg.startsWith("-") && !arg.includes("=")) ?? ""}`;
      if (deadline.aborted) throw new GitRunError("timeout", `${what} took longer than ${timeoutMs / 1000} s`);
      const stdout = Buffer.concat(chunks).subarray(0, maxBytes);
      if (truncated) return { stdout, code: 0, truncated };
      if (code === null || !codes.includes(code)) throw failure(what, code, child.stderrTail());
      return { stdout, code, truncated };
    } finally {
      release();
    }
  };
}

function failure(what: string, code: number | null, stderr: string): GitRunError {
  const text = stderr.trim().split("\n").slice(-4).join("; ");
  if (/not a git repository/.test(stderr)) return new GitRunError("no_repository", "not a git repository", stderr);
  if (/dubious ownership/.test(stderr))
    return new GitRunError(
      "unsafe",
      "the repository belongs to another user, so git does not use it; if you trust it: git config --global --add safe.directory <folder>",
      stderr,
    );
  return new GitRunError("failed", `${what} failed${code === null ? "" : ` with exit code ${code}`}: ${text}`, stderr);
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** The fields of NUL-separated output, one character per byte, so that a path that is not UTF-8 survives. */
export function fields(output: Buffer): string[] {
  return output.length === 0 ? [] : output.toString("latin1").replace(/\0$/, "").split("\0");
}

/** The text of a field, for people. */
export function shown(field: string): string {
  return Buffer.from(field, "latin1").toString("utf8");
}

/** NUL-separated input with the bytes of the fields. */
export function nulSeparated(list: readonly string[]): Buffer {
  return Buffer.from(list.map((field) => `${field}\0`).join(""), "latin1");
}

export function line({ stdout }: GitResult): string {
  return stdout.toString("utf8").replace(/\n$/, "");
}
