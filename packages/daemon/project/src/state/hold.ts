/** Acquires a project's state for one daemon: verifies that it belongs to the user and locks out other processes. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { storePath } from "@aegis/lib/daemon-file.ts";
import type { UserKey } from "@aegis/lib/user-key.ts";
import type { StoreLoss } from "@aegis/store/store.ts";
import type { DatabaseOwner } from "@aegis/store-sqlite/identity.ts";
import type { LossLog } from "@aegis/store-sqlite/store.ts";
import { digestOf, identityOf, isSameFile, sizeOf } from "./fingerprint.ts";
import { makeStateFolder, refuseLinks, requireWritable } from "./folder.ts";
import { digestedBytes, judgeState, requireKey, UnknownStateError } from "./judge.ts";
import { ProjectLock, takenBy } from "./lock.ts";
import { noteLoss } from "./losses.ts";
import { readMarker, writeMarker } from "./marker.ts";
import { newStateId, type ProjectRecord, ProjectRecords } from "./project-records.ts";

export type StatePlace = { root: string; home: string; clock: Clock };

/** Called after the user moved the project, before the new path is recorded. May be called again after a crash. */
export type OnMoved = (from: string) => Promise<void>;

export type HeldState = {
  dir: string;
  key: UserKey;
  lock: ProjectLock;
  /** The identity for a new database. */
  owner: DatabaseOwner;
  losses: LossLog;
  /** Whether the last process that used the database closed it. */
  wasClosed: boolean;
  /** Restores the marker if it was deleted or replaced. Returns true if it had to. */
  restoreMarker(): Promise<boolean>;
  /** Records the content of the database. Call it after closing the database and before another process may use it. */
  closed(): Promise<void>;
  /** Records that the project no longer has an embedded database, so that its absence is not a loss. */
  left(): Promise<void>;
};

/**
 * Throws `ProjectTakenError` if another daemon holds the project or its database, and `UnknownStateError` if the state
 * is not the user's; neither changes anything. `scope` releases the locks.
 */
export async function holdState(
  place: StatePlace,
  scope: AsyncDisposableStack,
  onMoved: OnMoved = async () => {},
): Promise<HeldState> {
  const { root, home } = place;
  await requireWritable(root);
  const key = await requireKey(home);
  const records = new ProjectRecords(home);
  const take = (lock: Disposable | null) => {
    if (lock === null) return false;
    scope.use(lock);
    return true;
  };
  if (!take(await records.tryLock({ root }))) throw await takenBy(root, home);
  await claimState(place);
  const { id } = await ownState(root, home);
  if (!take(await records.tryLock({ id }))) throw await takenBy(root, home);
  const dir = await makeStateFolder(root);
  const lock = ProjectLock.take(dir);
  if (lock === null) throw await takenBy(root, home);
  scope.use(lock);
  // Checked again, because a daemon at the previous path may have closed the database in the meantime.
  const { entry } = await ownState(root, home);
  if (entry.root !== root) await onMoved(entry.root);
  // The entry keeps the missing file until a new one is created, so that the loss is noticed even after a crash.
  const file = (await identityOf(storePath(root))) ?? entry.file;
  await records.write(id, { ...entry, root, file, closed: null });
  const change = async (changes: (entry: ProjectRecord) => Partial<ProjectRecord>) => {
    const current = await records.read(id);
    if (current !== null) await records.write(id, { ...current, ...changes(current) });
  };
  const begun = async (file: string) => {
    const identity = await identityOf(file);
    await change(() => ({ file: identity, closed: null }));
  };
  const closed = async () => {
    const content = await closedContent(storePath(root), await records.read(id));
    if (content !== null) await change(() => ({ closed: content }));
  };
  const left = () => change(() => ({ file: null, closed: null }));
  const restoreMarker = async () => {
    const marker = await readMarker(dir, key);
    if (marker.state === "own" && marker.id === id) return false;
    await writeMarker(dir, id, key);
    return true;
  };
  const losses = { expected: entry.file !== null, note: (loss: StoreLoss) => noteLoss(dir, loss) };
  const wasClosed = entry.closed !== null;
  return { dir, key, lock, owner: { id, begun }, losses, wasClosed, restoreMarker, closed, left };
}

/** Marks a new state folder as the user's. Throws `UnknownStateError` if the folder holds unknown state. */
export async function claimState({ root, home, clock }: StatePlace): Promise<void> {
  const verdict = await judgeState(root, home);
  if (verdict.kind === "unknown") throw new UnknownStateError(root, verdict);
  await refuseLinks(root);
  const dir = await makeStateFolder(root);
  if (verdict.kind === "own") return;
  const id = newStateId();
  const since = new Date(clock.now()).toISOString();
  // The marker comes last: the folder counts as new until it exists.
  await new ProjectRecords(home).write(id, { root, file: null, closed: null, since, adopted: false });
  await writeMarker(dir, id, await requireKey(home));
}

async function ownState(root: string, home: string): Promise<{ id: string; entry: ProjectRecord }> {
  const verdict = await judgeState(root, home);
  if (verdict.kind === "unknown") throw new UnknownStateError(root, verdict);
  if (verdict.kind === "own") return verdict;
  throw new AegisError("unavailable", "the state folder was deleted while Aegis started", { hint: "start it again" });
}

/** Null if the database is not the one that was opened, or was not closed cleanly. */
export async function closedContent(path: string, entry: ProjectRecord | null): Promise<ProjectRecord["closed"]> {
  const now = await identityOf(path);
  if (now === null || entry?.file == null || !isSameFile(entry.file, now)) return null;
  if ((await sizeOf(`${path}-wal`)) > 0) return null;
  const size = await sizeOf(path);
  return { digest: size <= digestedBytes ? await digestOf(path) : null, size };
}
