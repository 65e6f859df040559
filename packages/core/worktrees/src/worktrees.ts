/**
 * The git worktrees of sessions. A row exists before its folder, and every step of the creation can be repeated, so a
 * crash at any point is followed by the same steps again. The session's agent starts only in the state `ready`.
 */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Worktree, WorktreeView } from "@aegis/contract/worktree.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { withFileLock } from "@aegis/lib/file-lock.ts";
import { hasRepository, openRepository, projectIn, type Repository } from "@aegis/lib/git/repository.ts";
import { fields, GitRunError, line, type RunGit } from "@aegis/lib/git/run.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { SerialByKey } from "@aegis/lib/serial.ts";
import { isHere } from "@aegis/nodes/node-of.ts";
import type { SessionFolder } from "@aegis/sessions/extensions.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Boundaries } from "./boundaries.ts";
import { commitTree } from "./commits.ts";
import { freePort, portsFrom } from "./ports.ts";
import { type FillOptions, fillWorktree } from "./worktree-files.ts";

export type WorktreesOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  git: RunGit;
  boundaries: Boundaries;
  /** The project's folder. */
  root: string;
  /** Where the worktrees of this project are. */
  folder: () => string;
  /** The number of ports per worktree. */
  ports: () => number;
  fill: Omit<FillOptions, "repository" | "dir" | "env" | "signal" | "confine">;
  /** What starts the setup commands of the session's worktree. Throws if they must be confined and cannot be. */
  confine: (session: SessionId, folder: string) => Promise<Processes>;
  signal: AbortSignal;
};

type Named = Worktree & { dir: string; branch: string; repository: string; base: string };

const checkoutTimeoutMs = 600_000;
const mostNames = 1_000;

export class Worktrees {
  readonly #options: WorktreesOptions;
  readonly #serial = new SerialByKey();

  constructor(options: WorktreesOptions) {
    this.#options = options;
  }

  /** Where the session works, created if necessary. Null if it works in the project's folder. */
  async folder(session: SessionId): Promise<SessionFolder | null> {
    if ((await this.#options.store.read.worktrees.get(session)) === null) return null;
    const row = await this.#serial.run(session, () => this.#ensure(session));
    return { cwd: projectIn(row.dir, this.#options.root), env: this.#env(row) };
  }

  /** Throws `invalid` if a worktree cannot be created from this base. Called before a session is created. */
  async check(base: string | undefined): Promise<void> {
    const repository = await this.#repository();
    await this.#resolve(repository, base ?? null);
  }

  async list(): Promise<WorktreeView[]> {
    const { read } = this.#options.store;
    return Promise.all(
      (await read.worktrees.list()).map(async (row) => {
        const session = await read.sessions.get(row.session);
        const here = isHere(this.#options.store, session);
        const missing = here && row.state === "ready" && row.dir !== null && !existsSync(row.dir);
        const node = session?.node == null ? {} : { node: session.node };
        return {
          ...row,
          handle: session?.handle ?? row.session,
          closed: session?.closed_at !== null,
          missing,
          ...node,
        };
      }),
    );
  }

  async #ensure(session: SessionId): Promise<Named> {
    const { store, clock } = this.#options;
    const row = await store.read.worktrees.get(session);
    if (row === null) throw new AegisError("not_found", `the session ${session} has no worktree`);
    if (row.state === "removing" || row.state === "removed")
      throw new AegisError("unavailable", `its worktree ${row.dir} was removed`, { hint: "aegis rescue list" });
    if (row.state === "ready") {
      const { dir } = row;
      if (dir === null || !existsSync(join(dir, ".git")))
        throw new AegisError("unavailable", `its worktree ${dir} is missing`, {
          hint: "move it back, or run git worktree repair in the project and start a new session on its branch",
        });
      return named(row);
    }
    try {
      return await this.#create(row);
    } catch (error) {
      const problem = errorText(error);
      await store.transact(async (tx) => {
        await tx.worktrees.update(session, { problem });
        await tx.events.append({ type: "worktree.failed", session, data: { problem } }, clock.now());
      });
      const isOwn = isAegisError(error) && error.code !== "invalid" && error.code !== "conflict";
      if (isOwn || !(isAegisError(error) || error instanceof GitRunError)) throw error;
      throw new AegisError("unavailable", `its worktree cannot be created: ${problem}`, { cause: error });
    }
  }

  async #create(before: Worktree): Promise<Named> {
    const { store, clock, git, fill, confine, signal } = this.#options;
    const repository = await this.#repository();
    const lock = join(repository.commonDir, "aegis");
    await mkdir(lock, { recursive: true });
    // Git's own `worktree add` is not safe in parallel, not even with `--no-track`.
    const row = await this.#serial.run(repository.commonDir, () =>
      withFileLock(join(lock, "worktrees.lock"), () => this.#register(repository, before), { clock, signal }),
    );
    const own = await openRepository(git, row.dir);
    const [left_out] = await Promise.all([
      uncommitted(repository, row),
      own.git(["checkout", "-q", "-f", "HEAD", "--"], { timeoutMs: checkoutTimeoutMs, signal }),
    ]);
    const confined = () => confine(row.session, row.dir);
    await fillWorktree({ ...fill, repository, dir: row.dir, env: this.#env(row), confine: confined, signal });
    const { session, dir, branch, base, port } = row;
    await store.transact(async (tx) => {
      await tx.worktrees.update(session, { state: "ready", problem: null });
      await tx.events.append(
        { type: "worktree.ready", session, data: { dir, branch, base, port, left_out } },
        clock.now(),
      );
    });
    return { ...row, state: "ready" };
  }

  /** Chooses the names, records them, and registers the worktree with git. */
  async #register(repository: Repository, row: Worktree): Promise<Named> {
    const isAgain = row.state === "creating";
    const chosen = isAgain ? named(row) : await this.#choose(repository, row);
    const { dir, branch, base, session } = chosen;
    if (existsSync(join(dir, ".git"))) return chosen;
    const what = isAgain && (await hasBranch(repository, branch)) ? [dir, branch] : ["-b", branch, dir, base];
    // Twice: git registered it before a crash, and locked it.
    const flags = ["--no-track", "--no-checkout", "--force", "--force", "--lock", "--reason", `aegis ${session}`];
    await repository.git(["worktree", "add", "-q", ...flags, ...what]);
    return chosen;
  }

  async #choose(repository: Repository, row: Worktree): Promise<Named> {
    const { store, root, ports } = this.#options;
    const handle = (await store.read.sessions.get(row.session))?.handle ?? row.session;
    const taken = await store.read.worktrees.list({ all: true });
    const [base, head, { dir, branch }] = await Promise.all([
      this.#resolve(repository, row.base_ref),
      repository.git(["symbolic-ref", "-q", "--short", "HEAD"], { codes: [0, 1] }),
      this.#freeNames(repository, handle, taken),
    ]);
    const port = await freePort(portsFrom(root), ports(), new Set(taken.flatMap((one) => one.port ?? [])));
    const names = { dir, branch, base, port, repository: repository.commonDir };
    const target = head.code === 0 ? line(head) : null;
    await store.transact((tx) =>
      tx.worktrees.update(row.session, { ...names, target, state: "creating", problem: null }),
    );
    return { ...row, ...names, target, state: "creating" };
  }

  async #freeNames(repository: Repository, handle: string, taken: readonly Worktree[]) {
    const folder = this.#options.folder();
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const refs = await repository.git(["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    const branches = new Set(refs.stdout.toString("utf8").split("\n"));
    // Git cannot have a branch `aegis` and a branch `aegis/…`.
    const prefix = branches.has("aegis") ? "aegis-w" : "aegis";
    for (let number = 1; number <= mostNames; number++) {
      const name = number === 1 ? handle : `${handle}-${number}`;
      const [dir, branch] = [join(folder, name), `${prefix}/${name}`];
      const isTaken = taken.some((one) => one.dir === dir) || existsSync(dir) || branches.has(branch);
      if (!isTaken) return { dir, branch };
    }
    throw new AegisError("conflict", `no free name for the worktree of ${handle} in ${folder}`);
  }

  /** The commit to start from. `dirty` includes the uncommitted files of the project. */
  async #resolve(repository: Repository, wanted: string | null): Promise<string> {
    const { boundaries, root } = this.#options;
    const name = wanted === null || wanted === "dirty" ? "HEAD" : wanted;
    const args = ["rev-parse", "-q", "--verify", "--end-of-options", `${name}^{commit}`];
    const found = await repository.git(args, { codes: [0, 1, 128] });
    if (found.code !== 0) {
      const problem = name === "HEAD" ? "the repository has no commit yet" : `no branch, tag or commit "${name}"`;
      throw new AegisError("invalid", `a worktree cannot start there: ${problem}`);
    }
    const commit = line(found);
    if (wanted !== "dirty") return commit;
    const { tree } = await boundaries.now(root);
    return commitTree(repository, { tree, parents: [commit], message: "Uncommitted work of the project" });
  }

  async #repository(): Promise<Repository> {
    const { git, root } = this.#options;
    if (!hasRepository(root))
      throw new AegisError(
        "unavailable",
        "a session in a worktree needs a git project, and this folder is not in git",
        {
          hint: "run git init and make a commit, or use isolation: none",
        },
      );
    return openRepository(git, root);
  }

  #env({ dir, port }: Named): Record<string, string> {
    const ports =
      port === null
        ? {}
        : {
            AEGIS_PORT: String(port),
            AEGIS_PORT_BASE: String(port),
            AEGIS_PORT_COUNT: String(this.#options.ports()),
          };
    return { AEGIS_WORKTREE: dir, ...ports };
  }
}

async function hasBranch({ git }: Repository, branch: string): Promise<boolean> {
  return (await git(["rev-parse", "-q", "--verify", `refs/heads/${branch}`], { codes: [0, 1] })).code === 0;
}

function named(row: Worktree): Named {
  const { dir, branch, repository, base } = row;
  if (dir === null || branch === null || repository === null || base === null)
    throw new Error(`the worktree of ${row.session} has no names`);
  return { ...row, dir, branch, repository, base };
}

/** How many files of the project differ from what the worktree started from. */
async function uncommitted(repository: Repository, { base_ref }: Worktree): Promise<number> {
  if (base_ref === "dirty") return 0;
  const { stdout } = await repository.git(["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty"]);
  return fields(stdout).length;
}
