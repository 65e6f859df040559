/** Answers which files the turns of a session changed in a git working tree. */
import { relative, resolve } from "node:path";
import type { ChangeCounts, ChangedFile, Changes } from "@aegis/contract/changes.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import {
  changedPaths,
  diffTrees,
  type FileDiff,
  type Patch,
  type PatchLimits,
  pairKey,
  patchLimits,
  patchOf,
} from "@aegis/lib/git/diff.ts";
import { hasRepository, type Repository } from "@aegis/lib/git/repository.ts";
import { GitRunError } from "@aegis/lib/git/run.ts";
import { nearest } from "@aegis/lib/nearest.ts";
import type { BoundaryRow, SessionRow, Store } from "@aegis/store/store.ts";
import { type AttributedChange, attribute, type Interval, intervalsOf } from "./attribution.ts";
import type { Boundaries } from "./boundaries.ts";

export type SessionChangesOptions = {
  store: Store;
  boundaries: Boundaries;
  folderOf: (session: SessionId) => Promise<string>;
};

export type ChangesRequest = {
  /** `last`, a number from 1, or an id; all turns if absent. */
  turn?: string | undefined;
  patch?: boolean | undefined;
  /** The path of a changed file: the patch contains only this file, up to a higher limit. */
  file?: string | undefined;
};

/** The last position: everything until now. */
const now = Number.MAX_SAFE_INTEGER;
const mostFiles = 2_000;
/** The end of a turn waits for the counts, and the changes of all turns take longer with each turn. */
const mostCounted = 200;
const oneFileLimits: PatchLimits = { bytes: 1 << 20, fileBytes: 1 << 20, blobBytes: 4 << 20 };
const mostEvents = 10_000;

type Part = { turn: TurnId; open: BoundaryRow; close: BoundaryRow | null };

export class SessionChanges {
  readonly #options: SessionChangesOptions;

  constructor(options: SessionChangesOptions) {
    this.#options = options;
  }

  /** Throws `not_found` for an unknown turn. Outside of git the answer has `git: false`. */
  async of(session: Pick<SessionRow, "id" | "handle">, request: ChangesRequest = {}): Promise<Changes> {
    try {
      return await this.#of(session, request);
    } catch (error) {
      if (!(error instanceof GitRunError)) throw error;
      throw new AegisError("conflict", `the changes cannot be read: ${error.message}`, { cause: error });
    }
  }

  /** The changes of one turn, and of all turns of its session. */
  async counts(
    session: SessionId,
    turn: TurnId,
  ): Promise<ChangeCounts & { problem: string | null; total?: ChangeCounts }> {
    const ofTurn = await this.of({ id: session, handle: "" }, { turn });
    const counts = countsOf(ofTurn);
    const answer = { ...counts, problem: ofTurn.problems[0] ?? null };
    const turns = partsOf(await this.#options.store.read.boundaries.ofSession(session)).length;
    if (turns > mostCounted) return answer;
    return { ...answer, total: turns < 2 ? counts : countsOf(await this.of({ id: session, handle: "" })) };
  }

  async #of(session: Pick<SessionRow, "id" | "handle">, request: ChangesRequest): Promise<Changes> {
    const { turn } = request;
    const { store, boundaries, folderOf } = this.#options;
    const parts = partsOf(await store.read.boundaries.ofSession(session.id));
    const chosen = turn === undefined ? parts : await this.#turn(session.id, parts, turn);
    const workFolder = await folderOf(session.id);
    const [first, last] = [chosen[0], chosen.at(-1)];
    if (first === undefined || last === undefined) return { ...empty(session), git: hasRepository(workFolder) };
    // A session that moved to another working tree is shown in the last one.
    const { folder } = last.open;
    const covered = chosen.filter((part) => part.open.folder === folder);
    const begin = covered[0] ?? first;
    const repository = await boundaries.repository(folder);
    const isRunning = last.close === null;
    const live = isRunning ? await boundaries.now(folder, repository) : null;
    const rows = await store.read.boundaries.between(folder, begin.open.position, last.close?.position ?? now);
    const open = await store.read.boundaries.openAt(folder, begin.open.position);
    const edges = live === null ? rows : [...rows, { session: session.id, edge: "close" as const, tree: live.tree }];
    const trees = edges.flatMap(({ tree }) => (tree === null ? [] : [tree]));
    const [before, after] = [trees[0] ?? null, trees.at(-1) ?? null];
    const detail = live ?? last.close?.detail ?? last.open.detail;
    const answer: Changes = {
      ...empty(session),
      folder,
      before,
      after,
      base: begin.open.head,
      turns: covered.map((part) => part.turn),
      skipped: detail.skipped,
      dirty_submodules: detail.dirty_submodules,
      filters_off: [...detail.filters_off],
      problems: problemsOf(covered, parts),
    };
    if (before === null || after === null || before === after) return answer;
    const intervals = intervalsOf(open, edges);
    const [judged, compared] = await Promise.all([
      this.#judged(session.id, repository, intervals, workFolder),
      diffTrees(repository, before, after),
    ]);
    const files = compared.flatMap((file) => {
      const verdict = judged.get(file.path) ?? (file.from === null ? undefined : judged.get(file.from));
      return verdict === undefined ? [] : [{ file, verdict }];
    });
    const listed = files.slice(0, mostFiles);
    const made = await this.#patch(
      request,
      listed.map(({ file }) => file),
      (some, limits) => patchOf(repository, before, after, some, limits),
    );
    const handles = await this.#handles(new Set(listed.flatMap(({ verdict }) => verdict.sessions)));
    return {
      ...answer,
      files: listed.map(({ file, verdict }) => ({
        ...publicFile(file),
        ...verdict,
        sessions: verdict.sessions.map((id) => handles.get(id) ?? id).sort(),
      })),
      omitted: files.length - listed.length,
      added: files.reduce((sum, { file }) => sum + file.added, 0),
      deleted: files.reduce((sum, { file }) => sum + file.deleted, 0),
      patch: made.text,
      truncated: made.truncated,
    };
  }

  async #patch(
    { patch = false, file: wanted }: ChangesRequest,
    files: readonly FileDiff[],
    make: (files: readonly FileDiff[], limits: PatchLimits) => Promise<Patch>,
  ): Promise<Patch | { text: null; truncated: [] }> {
    if (wanted === undefined) return patch ? await make(files, patchLimits) : { text: null, truncated: [] };
    const file = files.find(({ path }) => path === wanted);
    if (file !== undefined) return await make([file], oneFileLimits);
    const near = nearest(
      wanted,
      files.map(({ path }) => path),
    );
    throw new AegisError("not_found", `no changed file "${wanted}" in these turns`, {
      hint: near === null ? "list the changes without `file` first" : `did you mean "${near}"?`,
    });
  }

  async #turn(session: SessionId, parts: readonly Part[], wanted: string): Promise<Part[]> {
    const turns = (await this.#options.store.read.turns.list(session, 100_000)).toReversed().map(({ id }) => id);
    const number = wanted === "last" ? turns.length : /^[1-9]\d*$/.test(wanted) ? Number(wanted) : 0;
    const id = turns.find((one, index) => one === wanted || index + 1 === number);
    if (id === undefined)
      throw new AegisError("not_found", `no turn "${wanted}" in this session`, {
        hint:
          turns.length === 0 ? "it has no turns" : `expected last, a number from 1 to ${turns.length}, or a turn's id`,
      });
    return parts.filter((part) => part.turn === id);
  }

  /** Every path that the session changed in one of the intervals. */
  async #judged(
    session: SessionId,
    repository: Repository,
    intervals: readonly Interval[],
    workFolder: string,
  ): Promise<Map<string, NonNullable<ReturnType<typeof attribute>>>> {
    const paths = await changedPaths(
      repository,
      intervals.map(({ from, to }) => [from, to] as const),
    );
    const crowded = new Set(intervals.flatMap(({ sessions }) => (sessions.size > 1 ? [...sessions] : [])));
    const named = await this.#named(crowded, repository.root, workFolder);
    const changes = new Map<string, AttributedChange[]>();
    for (const { from, to, sessions } of intervals)
      for (const path of paths.get(pairKey(from, to)) ?? []) {
        const namers = new Set([...sessions].filter((one) => named.get(one)?.has(path) === true));
        changes.set(path, [...(changes.get(path) ?? []), { sessions, named: namers }]);
      }
    const judged = [...changes].map(([path, list]) => [path, attribute(session, list)] as const);
    return new Map(judged.flatMap(([path, verdict]) => (verdict === null ? [] : [[path, verdict] as const])));
  }

  /** The files whose edits each session reported, relative to the root of the working tree. */
  async #named(sessions: ReadonlySet<SessionId>, root: string, folder: string): Promise<Map<SessionId, Set<string>>> {
    const found = new Map<SessionId, Set<string>>();
    for (const session of sessions) {
      const query = { session, types: ["turn.tool_call" as const], limit: mostEvents, from: "newest" as const };
      const events = await this.#options.store.read.events.list(query);
      const paths = events.flatMap((event) => {
        if (event.type !== "turn.tool_call") return [];
        const { diff, kind, locations } = event.data;
        return diff !== null ? [diff.path] : kind === "edit" ? locations.map(({ path }) => path) : [];
      });
      found.set(session, new Set(paths.map((path) => relative(root, resolve(folder, path)))));
    }
    return found;
  }

  async #handles(sessions: ReadonlySet<SessionId>): Promise<Map<SessionId, string>> {
    const { read } = this.#options.store;
    const known = await Promise.all(
      [...sessions].map(async (id) => [id, (await read.sessions.get(id))?.handle ?? id] as const),
    );
    return new Map(known);
  }
}

function countsOf({ files, omitted, added, deleted }: Changes): ChangeCounts {
  const shared = files.filter((file) => file.attribution === "shared").length;
  return { files: files.length + omitted, added, deleted, shared };
}

function partsOf(rows: readonly BoundaryRow[]): Part[] {
  const closes = new Map(rows.filter(({ edge }) => edge === "close").map((row) => [row.turn, row]));
  return rows.flatMap((open) =>
    open.edge === "open" ? [{ turn: open.turn, open, close: closes.get(open.turn) ?? null }] : [],
  );
}

function problemsOf(covered: readonly Part[], all: readonly Part[]): string[] {
  return covered.flatMap(({ turn, open, close }) => {
    const problem = open.problem ?? close?.problem ?? null;
    const number = all.findIndex((part) => part.turn === turn) + 1;
    return problem === null ? [] : [`turn ${number} has no complete record: ${problem}`];
  });
}

function publicFile({
  old_oid: _,
  new_oid: __,
  ...file
}: FileDiff): Omit<ChangedFile, "attribution" | "sessions" | "outside"> {
  return file;
}

function empty({ id, handle }: Pick<SessionRow, "id" | "handle">): Changes {
  return {
    session: id,
    handle,
    git: true,
    folder: null,
    turns: [],
    base: null,
    before: null,
    after: null,
    files: [],
    omitted: 0,
    added: 0,
    deleted: 0,
    patch: null,
    truncated: [],
    skipped: [],
    dirty_submodules: [],
    filters_off: [],
    problems: [],
  };
}
