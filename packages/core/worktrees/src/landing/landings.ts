/**
 * Lands the work of sessions, in the order of the merge queue. A landing is a row, and each of its steps can be repeated,
 * so it resumes there after a crash. The branch moves last, from the value that was checked, or not at all.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { type LandingId, newId, type SessionId } from "@aegis/contract/ids.ts";
import { type LandHow, type Landing, type LandingView, openLandings } from "@aegis/contract/landing.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { openRepository, type Repository } from "@aegis/lib/git/repository.ts";
import { GitRunError, line, type RunGit } from "@aegis/lib/git/run.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { requireHere } from "@aegis/nodes/node-of.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import type { Boundaries } from "../boundaries.ts";
import type { Checks } from "../checks/checks.ts";
import type { ReceiptViews } from "../checks/views.ts";
import { commitTree, mergeTrees, treeOf } from "../commits.ts";
import type { Removal } from "../removal.ts";
import type { Rescues } from "../rescue/rescues.ts";
import { apply } from "./apply.ts";
import { inScratch } from "./check.ts";
import { checkOutMerge, withMarkers } from "./conflicts.ts";
import { endOf, MergeQueue } from "./merge-queue.ts";
import { commitMessage } from "./message.ts";
import { withLanded } from "./onto.ts";
import { type CommitOutcome, commitWork, continueFrom } from "./own-branch.ts";
import { plan } from "./plan.ts";
import { holdCommit, releaseCommits } from "./refs.ts";

export type LandingsOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  git: RunGit;
  root: string;
  /** Where the worktrees of this project are. */
  folder: () => string;
  checks: Checks;
  /** For the command that a person named. */
  consent: (command: string) => Promise<Consent>;
  receipts: ReceiptViews;
  boundaries: Boundaries;
  rescues: Rescues;
  removal: Pick<Removal, "tidy">;
  inbox: Inbox;
  /** Filled here: the sessions whose worktree a landing reads or changes, so that no turn may begin. */
  landing: Map<SessionId, Promise<void>>;
  signal: AbortSignal;
};

export type LandRequest = { how: LandHow; check: string | null; message: string | null; to: string | null };

/** How often a landing is planned again because the branch moved. */
const mostPlans = 20;
const checkTimeoutMs = 60 * 60_000;
const mostKnown = 10_000;

export class Landings {
  readonly #options: LandingsOptions;
  readonly queue: MergeQueue;

  constructor(options: LandingsOptions) {
    this.#options = options;
    const { store, clock, log, signal } = options;
    this.queue = new MergeQueue({ store, clock, log, signal, run: (row) => this.#go(row) });
  }

  /** Waits for its turn in the queue and for the result. */
  async land(session: SessionRow, { how, check, message, to }: LandRequest): Promise<LandingView> {
    requireHere(this.#options.store, session);
    const { store, clock } = this.#options;
    const worktree = await store.read.worktrees.get(session.id);
    if (worktree === null || worktree.branch === null)
      throw new AegisError("invalid", `${session.handle} has no worktree, so there is nothing to land`, {
        hint: "start sessions with aegis spawn --worktree",
      });
    const target = to ?? worktree.target;
    if (target === null)
      throw new AegisError("invalid", "its worktree did not start from a branch; name one with --to");
    const now = clock.now();
    const row: Landing = {
      id: newId("lnd", now),
      session: session.id,
      target,
      how,
      check,
      ...(message === null ? {} : { message }),
      state: "new",
      files: [],
      created_at: now,
      old: null,
      tip: null,
      next: null,
      exit: null,
      tree: null,
      detail: null,
      ended_at: null,
    };
    await store.transact(async (tx) => {
      if ((await tx.sessions.get(session.id))?.state === "working")
        throw new AegisError("conflict", `${session.handle} is working; land it when its turn has ended`);
      await tx.landings.insert(row);
      await tx.events.append(
        { type: "land.queued", session: session.id, data: { landing: row.id, target, how, check } },
        now,
      );
    });
    return this.#view(await this.queue.ended(row.id));
  }

  /** Newest first. `open`: only those that have not ended. */
  async list({ open }: { open: boolean }): Promise<LandingView[]> {
    const { landings } = this.#options.store.read;
    return this.#views(open ? (await landings.open()).reverse() : await landings.list(100));
  }

  /** Throws `conflict` if the landing does not wait. */
  async cancel(id: LandingId): Promise<LandingView> {
    return this.#view(await this.queue.cancel(id));
  }

  async #view(landing: Landing): Promise<LandingView> {
    const [view] = await this.#views([landing]);
    return view ?? { ...landing, title: "", handle: "", receipt: null, queued_position: null };
  }

  async #views(landings: readonly Landing[]): Promise<LandingView[]> {
    const receipts = await this.#options.receipts.newest(landings.map(({ id }) => id));
    const positions = await this.queue.positions();
    const { sessions } = this.#options.store.read;
    const rows = await Promise.all(landings.map(({ session }) => sessions.get(session)));
    return landings.map((landing, index) => ({
      ...landing,
      title: rows[index]?.title ?? "",
      handle: rows[index]?.handle ?? landing.session,
      receipt: receipts.get(landing.id) ?? null,
      queued_position: positions.get(landing.id) ?? null,
    }));
  }

  /** Continues the landings that an earlier daemon left. */
  async resume(): Promise<void> {
    const { store } = this.#options;
    // A crash may have come between the end of a landing and the end of its reference.
    const ended = (await store.read.landings.list(mostKnown)).filter(({ ended_at }) => ended_at !== null);
    await releaseCommits(this.#options, ended);
    await this.queue.start();
  }

  async #go(first: Landing): Promise<Landing> {
    const last = await this.#steps(first);
    if (last.ended_at !== null) await releaseCommits(this.#options, [last]);
    return last;
  }

  async #steps(first: Landing): Promise<Landing> {
    let row = first;
    try {
      for (let plans = 0; row.ended_at === null && row.state !== "new"; ) {
        this.#options.signal.throwIfAborted();
        if (row.state === "planning" && ++plans > mostPlans)
          return await this.#put(row, { state: "failed", detail: `${row.target} keeps moving` });
        row = await this.#step(row);
      }
    } catch (error) {
      if (this.#options.signal.aborted) throw error;
      // Git, a rescue that could not store everything, or a repository that Aegis does not use.
      const isKnown = error instanceof GitRunError || error instanceof AegisError;
      if (!isKnown) this.#options.log.error("a landing failed", { id: row.id, error: errorText(error) });
      return this.#put(row, { state: "failed", detail: errorText(error) });
    }
    return row;
  }

  /** Runs the work while no turn of the session can begin. Null if one runs. */
  async #whileQuiet<T>(session: SessionId, work: () => Promise<T>): Promise<T | null> {
    const over = Promise.withResolvers<void>();
    this.#options.landing.set(session, over.promise);
    try {
      const row = await this.#options.store.read.sessions.get(session);
      return row?.state === "working" ? null : await work();
    } finally {
      this.#options.landing.delete(session);
      over.resolve();
    }
  }

  /** If a turn runs, the landing waits in the queue again. */
  async #quietly(row: Landing, work: () => Promise<Landing>): Promise<Landing> {
    return (await this.#whileQuiet(row.session, work)) ?? this.#put(row, { state: "new" });
  }

  async #step(row: Landing): Promise<Landing> {
    const { git, root } = this.#options;
    const repository = await openRepository(git, root);
    if (row.state === "planning") return this.#quietly(row, () => this.#plan(repository, row));
    const { old, next } = row;
    if (old === null || next === null) return this.#put(row, { state: "planning" });
    if (row.state === "returning") return this.#quietly(row, () => this.#giveBack(row, next));
    if (row.state === "ready") {
      const tree = await treeOf(repository, next);
      if (row.check === null) return this.#put(row, { state: "checked", tree });
      return this.#check(repository, { ...row, check: row.check, next }, tree);
    }
    const applied = await apply(git, repository, { ...row, old, next });
    if (applied.state === "moved") return this.#put(row, { state: "planning", exit: null, tree: null });
    if (applied.state === "waiting") return this.#put(row, { state: "waiting", detail: applied.why });
    await this.#continueFrom(row, next);
    const landed = await this.#put(row, { state: "landed", detail: null });
    void this.#options.removal.tidy(row.session);
    return landed;
  }

  async #check(repository: Repository, row: Landing & { check: string; next: string }, tree: string): Promise<Landing> {
    const { folder, checks, consent, signal } = this.#options;
    const dir = join(folder(), `landing-${row.id}`);
    const run = { cwd: dir, consent: () => consent(row.check), signal, timeoutMs: checkTimeoutMs };
    const receipt = await inScratch({ repository, dir, commit: row.next }, () => checks.land({ ...row, tree }, run));
    const { exit, status, problem, tail } = receipt;
    // A check may write files into the scratch worktree: what lands is the commit that it began with.
    if (status === "passed") return this.#put(row, { state: "checked", exit, tree });
    if (status === "refused") return this.#put(row, { state: "failed", tree, detail: problem });
    const why = problem === null ? "" : ` (${problem})`;
    await this.#tell(
      row,
      `The check \`${row.check}\` failed with exit code ${exit}${why} on your work merged with ${row.target}. Correct it in your worktree. The end of its output:\n\n${tail}`,
    );
    return this.#put(row, { state: "failed", exit, tree, detail: tail });
  }

  async #plan(repository: Repository, row: Landing): Promise<Landing> {
    const { store } = this.#options;
    const [worktree, session] = [
      await store.read.worktrees.get(row.session),
      await store.read.sessions.get(row.session),
    ];
    const found = await repository.git(["rev-parse", "-q", "--verify", `refs/heads/${row.target}`], { codes: [0, 1] });
    if (found.code !== 0 || worktree === null || session === null)
      return this.#put(row, { state: "failed", detail: `there is no branch ${row.target}` });
    const old = line(found);
    const committed = await this.#commit(repository, row, worktree, session);
    if (committed.state === "moved") return this.#put(row, { state: "planning" });
    if (committed.state === "waiting") return this.#put(row, { state: "waiting", old, detail: committed.why });
    const { tip } = committed;
    const landings = await store.read.landings.list(mostKnown);
    const before = landings.find(
      ({ id, session: of, state }) => of === session.id && id !== row.id && state === "conflict",
    );
    const unresolved = await withMarkers(repository, tip, before?.files ?? []);
    if (unresolved.length > 0) {
      await this.#tell(
        row,
        `These files still have conflict markers: ${unresolved.join(", ")}. Resolve them in your worktree.`,
      );
      return this.#put(row, { state: "conflict", old, tip, files: unresolved, detail: "conflict markers are left" });
    }
    const onto = await withLanded(repository, { old, tip, landings });
    const planned = await plan(repository, {
      old,
      onto,
      tip,
      how: row.how,
      message: await this.#message(row, session),
    });
    if (planned.state === "nothing") return this.#put(row, { state: "nothing", old, tip });
    if (planned.state === "ready") {
      await holdCommit(repository, row.id, planned.next);
      return this.#put(row, { state: "ready", old, tip, next: planned.next });
    }
    const merged = await mergeTrees(repository, tip, onto);
    const next = await commitTree(repository, {
      tree: merged.tree,
      parents: [tip, old],
      message: `Merge ${row.target} with conflicts\n\nAegis-Session: ${session.id}\n`,
    });
    await holdCommit(repository, row.id, next);
    return this.#put(row, { state: "returning", old, tip, next, files: planned.files });
  }

  /** The last commit of the session, after one on its branch for what the agent did not commit. */
  async #commit(
    repository: Repository,
    row: Landing,
    { dir, branch }: Worktree,
    session: SessionRow,
  ): Promise<CommitOutcome> {
    const last = await repository.git(["rev-parse", "--verify", `refs/heads/${branch}`]);
    if (dir === null || !existsSync(join(dir, ".git"))) return { state: "committed", tip: line(last) };
    const { tree, head } = await this.#options.boundaries.now(dir);
    const own = await openRepository(this.#options.git, dir);
    return commitWork(own, {
      tree,
      head: head ?? line(last),
      target: row.target,
      message: await this.#message(row, session),
    });
  }

  async #message({ message: given }: Landing, session: SessionRow): Promise<string> {
    const { read } = this.#options.store;
    const [turns, task] = await Promise.all([read.turns.list(session.id, 1), read.tasks.ofWorker(session.id)]);
    return commitMessage({ session, given: given ?? null, answer: turns[0]?.text ?? "", task: task?.id ?? null });
  }

  /** Not during a turn: the agent may be about to commit. */
  async #continueFrom({ session, target, tip }: Landing, next: string): Promise<void> {
    const { store, git } = this.#options;
    const worktree = await store.read.worktrees.get(session);
    if (tip === null || worktree?.branch == null || worktree.dir === null || worktree.target !== target) return;
    const { dir, branch } = worktree;
    if (!existsSync(join(dir, ".git"))) return;
    await this.#whileQuiet(session, async () => continueFrom(await openRepository(git, dir), { branch, tip, next }));
  }

  /** Merges the target into the session's worktree, with markers in the files that conflict, and tells the agent. */
  async #giveBack(row: Landing, merge: string): Promise<Landing> {
    const { store, git, rescues } = this.#options;
    const [worktree, session] = [
      await store.read.worktrees.get(row.session),
      await store.read.sessions.get(row.session),
    ];
    const isOpen = session !== null && session.closed_at === null;
    const dir = worktree?.dir ?? null;
    if (isOpen && worktree !== null && dir !== null && existsSync(join(dir, ".git"))) {
      const about = { session: row.session, handle: session.handle, reason: `merge of ${row.target}` };
      const merged = { merge, tip: row.tip, target: row.target, rescue: () => rescues.save(dir, about) };
      if (!(await checkOutMerge(await openRepository(git, dir), merged))) return this.#put(row, { state: "planning" });
      const files = row.files.join(", ");
      await this.#tell(
        row,
        `Your work conflicts with ${row.target} in: ${files}. Aegis merged ${row.target} into your worktree and left conflict markers in these files. Resolve them; the rest is merged.`,
      );
    }
    const detail = isOpen ? "the session was told to resolve it" : "the session is closed: resolve it on its branch";
    return this.#put(row, { state: "conflict", detail });
  }

  /** The id is derived, so a repeated step does not repeat the message. */
  async #tell({ id, session, old }: Landing, body: string): Promise<void> {
    const message = derivedId("msg", `${id}/${old}/${body.slice(0, 40)}`);
    await this.#options.inbox
      .admit({ id: message, session, sender: { kind: "substrate" }, body })
      .catch((error: unknown) =>
        this.#options.log.warn("a session was not notified", { session, error: errorText(error) }),
      );
  }

  async #put(row: Landing, change: Partial<Landing>): Promise<Landing> {
    const { store, clock } = this.#options;
    const state = change.state ?? row.state;
    const isOver = !openLandings.includes(state);
    const next: Landing = { ...row, ...change, ended_at: isOver ? clock.now() : null };
    await store.transact(async (tx) => {
      await tx.landings.update(next);
      if (isOver) await tx.events.append(endOf(next), clock.now());
    });
    return next;
  }
}
