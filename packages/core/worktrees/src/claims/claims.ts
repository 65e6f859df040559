/**
 * Keeps sessions that share the project's folder from overwriting each other. Each edit that passes through a gate holds
 * its files from the check of their content to the end of the tool; agents can claim files for longer themselves.
 */
import { stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { Claim, ClaimRefusal } from "@aegis/contract/claim.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { FileChange, ToolUse } from "@aegis/drivers/driver.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { containedPath } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import type { FileWriteRow, Store } from "@aegis/store/store.ts";
import { mismatch } from "./compare.ts";
import { type HoldRefusal, Holds } from "./holds.ts";
import { type Content, Ledger } from "./ledger.ts";
import { heldText, staleText } from "./refusal.ts";

export type FileClaimsOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  redact: Redact;
  /** The project's folder. */
  root: string;
  /** Whether edits are checked without a claim of the agent. */
  automatic: () => boolean;
};

type Edit = {
  session: SessionId;
  key: string;
  before: ReadonlyMap<string, Content>;
  rows: ReadonlyMap<string, FileWriteRow | null>;
};

/** The time between the check and the end of an edit is short; this covers a harness that never reports the end. */
const editLeaseMs = 120_000;
const editWaitMs = 10_000;
/** A claim of an agent ends with its turn, and at the latest this long after it was last requested. */
const claimLeaseMs = 10 * 60_000;
const claimKey = "claim";
/** More reads of one call are not noted. */
const mostReads = 256;
const longestPath = 4_096;

export class FileClaims {
  readonly #options: FileClaimsOptions;
  readonly #holds: Holds;
  readonly #ledger: Ledger;
  readonly #edits = new Map<string, Edit>();
  readonly #holders = new Set<SessionId>();
  /** The sessions for which `turnEnded` has something to do. */
  readonly holders: ReadonlySet<SessionId> = this.#holders;
  /** Calls of the present turns that were refused: they changed nothing, regardless of how the harness reports their end. */
  readonly #refusals = new Map<SessionId, Set<string>>();

  constructor(options: FileClaimsOptions) {
    this.#options = options;
    this.#holds = new Holds(options.clock);
    this.#ledger = new Ledger(options);
  }

  /** The reason why the call may not run, or null. Then its files are held until `ended`. */
  async begins(session: SessionId, use: ToolUse, signal: AbortSignal): Promise<string | null> {
    const { reads = [], changes = [] } = use.files?.(use.input) ?? {};
    if (reads.length + changes.length === 0 || !(await this.#applies(session))) return null;
    for (const path of await this.#contained(reads)) await this.#reads(session, path);
    const wanted = await this.#byPath(changes);
    if (wanted.size === 0) return null;
    this.#holders.add(session);
    const paths = [...wanted.keys()].sort();
    const key = keyOf(use);
    const holds = { leaseMs: editLeaseMs, waitMs: editWaitMs, signal };
    const refusal = await this.#holds.take({ session, key, paths, ...holds });
    if (refusal !== null) {
      this.#noteRefusal(session, key);
      return this.#held(session, use.tool, refusal);
    }
    try {
      const before = new Map<string, Content>();
      for (const [path, list] of wanted) {
        const now = await this.#ledger.now(path);
        const stale = await this.#stale(session, path, list, now);
        if (stale !== null) {
          this.#holds.release(session, { key });
          this.#noteRefusal(session, key);
          return this.#refused(session, use.tool, stale);
        }
        before.set(path, now);
      }
      const rows = await this.#ledger.begin(session, paths);
      this.#edits.set(editName(session, key), { session, key, before, rows });
      return null;
    } catch (error) {
      this.#holds.release(session, { key });
      throw error;
    }
  }

  /** Records what the call left in its files, and lets others have them. Safe to repeat. Never rejects. */
  async ended(session: SessionId, use: ToolUse, { ran = true }: { ran?: boolean } = {}): Promise<void> {
    try {
      const key = keyOf(use);
      const edit = this.#edits.get(editName(session, key));
      if (edit !== undefined) await this.#finish(edit);
      else if (ran && use.kind === "edit" && this.#refusals.get(session)?.has(key) !== true)
        await this.#unasked(session, use);
    } catch (error) {
      this.#failed(session, error);
    }
  }

  /** A harness that does not ask about a call still says what it reads. */
  async read(session: SessionId, paths: readonly string[]): Promise<void> {
    try {
      if (!(await this.#applies(session))) return;
      for (const path of await this.#contained(paths)) await this.#reads(session, path);
    } catch (error) {
      this.#failed(session, error);
    }
  }

  /** Ends everything that the session holds. */
  async turnEnded(session: SessionId): Promise<void> {
    this.#holders.delete(session);
    for (const edit of this.#edits.values())
      if (edit.session === session) await this.#finish(edit).catch((error: unknown) => this.#failed(session, error));
    this.#holds.release(session);
    this.#refusals.delete(session);
  }

  closed(session: SessionId): void {
    this.#holds.release(session);
    this.#ledger.forget(session);
  }

  /** Claims files until the end of the turn. Throws `conflict` if another session keeps one. */
  async claim(session: SessionId, paths: readonly string[], waitMs: number, signal: AbortSignal): Promise<Claim[]> {
    if (await this.#hasWorktree(session)) return [];
    const wanted = await Promise.all(paths.map((path) => this.#claimable(path)));
    const request = { session, key: claimKey, paths: [...new Set(wanted)].sort(), leaseMs: claimLeaseMs };
    this.#holders.add(session);
    const refusal = await this.#holds.take({ ...request, waitMs, signal });
    if (refusal !== null) throw new AegisError("conflict", await this.#held(session, "aegis_claim", refusal));
    return (await this.list()).filter((one) => one.session === session && one.kind === "claim");
  }

  /** Ends claims of the agent: of these files, or all. Returns the released paths. */
  async release(session: SessionId, paths: readonly string[] | null): Promise<string[]> {
    const named = paths === null ? {} : { paths: await Promise.all(paths.map((path) => this.#claimable(path))) };
    return this.#holds.release(session, { key: claimKey, ...named }).map(({ path }) => path);
  }

  async list(): Promise<Claim[]> {
    const claims = new Map<string, Claim>();
    for (const { path, session, key, since, until } of this.#holds.list()) {
      const before = claims.get(path);
      const kind = key === claimKey || before?.kind === "claim" ? "claim" : "edit";
      const waiting = await Promise.all(this.#holds.waitingFor(path).map((one) => this.#handle(one)));
      const times = { since: Math.min(since, before?.since ?? since), until: Math.max(until, before?.until ?? until) };
      claims.set(path, { path, session, handle: await this.#handle(session), kind, ...times, waiting });
    }
    return [...claims.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Forgets who wrote files long ago. Never rejects. */
  async forgetOld(): Promise<void> {
    try {
      await this.#ledger.forgetOld();
    } catch (error) {
      this.#options.log.warn("old writes could not be forgotten", { error: errorText(error) });
    }
  }

  async #applies(session: SessionId): Promise<boolean> {
    return this.#options.automatic() && !(await this.#hasWorktree(session));
  }

  async #hasWorktree(session: SessionId): Promise<boolean> {
    return (await this.#options.store.read.worktrees.get(session)) !== null;
  }

  /** The content is read before the agent reads it: if it changes in between, the next write is refused. */
  async #reads(session: SessionId, path: string): Promise<void> {
    const content = await this.#ledger.now(path).catch(() => null);
    if (content !== null) this.#ledger.saw(session, path, content);
  }

  async #stale(
    session: SessionId,
    path: string,
    changes: readonly FileChange[],
    now: Content,
  ): Promise<Parameters<typeof staleText>[0] | null> {
    const known = this.#ledger.known(session, path);
    const writer = await this.#ledger.writer(path);
    for (const change of changes) {
      const why = mismatch(change, { session, now, known, writer });
      if (why === null) continue;
      const isWriter = writer !== null && writer.session !== session && (writer.hash ?? now.hash) === now.hash;
      const by = isWriter ? await this.#handle(writer.session) : null;
      return { path, why, by, before: known === null ? null : this.#ledger.text(known), after: now.text };
    }
    return null;
  }

  async #finish({ session, key, before, rows }: Edit): Promise<void> {
    try {
      const wrote = new Map<string, Content>();
      const undo = new Map<string, FileWriteRow | null>();
      for (const [path, { hash }] of before) {
        const now = await this.#ledger.now(path);
        if (now.hash === hash) undo.set(path, rows.get(path) ?? null);
        else wrote.set(path, now);
      }
      await this.#ledger.end(session, wrote, undo);
    } finally {
      this.#edits.delete(editName(session, key));
      this.#holds.release(session, { key });
    }
  }

  /** An edit that its harness made without asking. It could not be refused, but other sessions must learn of it. */
  async #unasked(session: SessionId, use: ToolUse): Promise<void> {
    const { changes = [] } = use.files?.(use.input) ?? {};
    if (changes.length === 0 || !(await this.#applies(session))) return;
    const wrote = new Map<string, Content>();
    for (const path of (await this.#byPath(changes)).keys()) {
      const now = await this.#ledger.now(path);
      if (now.hash !== this.#ledger.known(session, path)) wrote.set(path, now);
    }
    await this.#ledger.end(session, wrote, new Map());
  }

  async #held(session: SessionId, tool: string, refusal: HoldRefusal): Promise<string> {
    const holder = await this.#handle(refusal.holder);
    await this.#record(session, tool, { ...refusal, by: holder });
    return heldText(refusal, holder);
  }

  async #refused(session: SessionId, tool: string, stale: Parameters<typeof staleText>[0]): Promise<string> {
    await this.#record(session, tool, stale);
    return this.#options.redact(staleText(stale));
  }

  async #record(
    session: SessionId,
    tool: string,
    { path, why, by }: { path: string; why: ClaimRefusal; by: string | null },
  ): Promise<void> {
    const { store, clock } = this.#options;
    const data = { tool, path, why, by };
    await store.transact((tx) => tx.events.append({ type: "claim.refused", session, data }, clock.now()));
  }

  /** Files outside the project are not shared by its sessions. */
  async #contained(paths: readonly string[]): Promise<string[]> {
    const found = await Promise.all(paths.slice(0, mostReads).map((path) => this.#inProject(path)));
    return found.filter((path) => path !== null);
  }

  async #byPath(changes: readonly FileChange[]): Promise<Map<string, FileChange[]>> {
    const found = new Map<string, FileChange[]>();
    for (const [named, list] of Map.groupBy(changes, ({ path }) => path)) {
      const path = await this.#inProject(named);
      if (path !== null) found.set(path, [...(found.get(path) ?? []), ...list]);
    }
    return found;
  }

  async #inProject(path: string): Promise<string | null> {
    if (path === "" || path.length > longestPath || path.includes("\0")) return null;
    const { root } = this.#options;
    const real = await containedPath(root, path);
    const below = real === null ? "" : relative(root, real);
    return below === "" ? null : below;
  }

  async #claimable(path: string): Promise<string> {
    const { root } = this.#options;
    const below = await this.#inProject(path);
    if (below === null)
      throw new AegisError("invalid", `${path} is not a file of the project`, {
        hint: `expected a path below ${root}`,
      });
    const info = await stat(join(root, below)).catch(() => null);
    if (info?.isDirectory()) throw new AegisError("invalid", `${below} is a folder`, { hint: "claim its files" });
    return below;
  }

  async #handle(session: SessionId): Promise<string> {
    return (await this.#options.store.read.sessions.get(session))?.handle ?? session;
  }

  #noteRefusal(session: SessionId, key: string): void {
    this.#refusals.set(session, (this.#refusals.get(session) ?? new Set()).add(key));
  }

  #failed(session: SessionId, error: unknown): void {
    this.#options.log.error("the end of an edit was not recorded", { session, error: errorText(error) });
  }
}

function keyOf({ call, tool }: Pick<ToolUse, "call" | "tool">): string {
  return `edit ${call ?? tool}`;
}

function editName(session: SessionId, key: string): string {
  return `${session} ${key}`;
}
