/** Receipts as clients see them: a receipt is void once the files are no longer those on which the check ran. */
import { existsSync } from "node:fs";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { isId, type RunId, type SessionId } from "@aegis/contract/ids.ts";
import type { CheckReceipt, ReceiptView } from "@aegis/contract/receipt.ts";
import { subagentRunIdSchema } from "@aegis/contract/subagent.ts";
import { isHere } from "@aegis/nodes/node-of.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { ReceiptRow, Store } from "@aegis/store/store.ts";
import type { FileStates } from "./measure.ts";

export type ReceiptViewsOptions = {
  store: Store;
  files: FileStates;
  sessions: Pick<Sessions, "resolve">;
  /** Where the session works, without creating it; null if its working copy was removed. */
  presentFolder: (session: SessionId) => Promise<string | null>;
};

type Seen = Pick<ReceiptView, "state" | "note">;

export class ReceiptViews {
  readonly #options: ReceiptViewsOptions;

  constructor(options: ReceiptViewsOptions) {
    this.#options = options;
  }

  /** Newest first: all, or those of a session, a task, a subagent, a run or a landing. Throws `not_found`. */
  async list(of: string | undefined, limit: number): Promise<ReceiptView[]> {
    const { read } = this.#options.store;
    const filter = of === undefined ? {} : await this.#filter(of);
    return this.views(await read.receipts.list({ ...filter, limit }));
  }

  /** The newest of each subject that has one. */
  async newest(subjects: readonly string[]): Promise<Map<string, ReceiptView>> {
    const found = await this.#options.store.read.receipts.newest(subjects);
    const views = await this.views([...found.values()]);
    return new Map(views.map((view) => [view.subject, view]));
  }

  async views(rows: readonly ReceiptRow[]): Promise<ReceiptView[]> {
    // One look per folder, however many receipts it has.
    const trees = new Map<string, Promise<string | null>>();
    const treeOf = (folder: string) => {
      const known = trees.get(folder) ?? this.#options.files.now(folder).then(({ tree }) => tree);
      trees.set(folder, known);
      return known;
    };
    return Promise.all(
      rows.map(async ({ scope: _, ...receipt }) => ({ ...receipt, ...(await this.#seen(receipt, treeOf)) })),
    );
  }

  async #seen(receipt: CheckReceipt, treeOf: (folder: string) => Promise<string | null>): Promise<Seen> {
    const { status, kind, changed, tree, session } = receipt;
    if (status === "running" && kind !== "landing") return this.#unfinished(session);
    if (status !== "passed") return { state: status, note: null };
    if (changed.length > 0) return { state: "void", note: null };
    if (tree === null) return { state: "passed", note: null };
    // What landed is a commit, which does not change.
    if (kind === "landing") return { state: "passed", note: null };
    const row = await this.#options.store.read.sessions.get(session);
    if (!isHere(this.#options.store, row)) return { state: "passed", note: `its files are on node ${row?.node}` };
    const folder = await this.#options.presentFolder(session);
    if (folder === null || !existsSync(folder)) return { state: "passed", note: "its working copy was removed" };
    const isSame = (await treeOf(folder)) === tree;
    return isSame ? { state: "passed", note: null } : { state: "void", note: "files have changed since" };
  }

  /** A task that is cancelled or timed out ends its check; nothing runs it again. */
  async #unfinished(session: SessionId): Promise<Seen> {
    const row = await this.#options.store.read.sessions.get(session);
    const isOver = row === null || row.closed_at !== null;
    return isOver ? { state: "refused", note: "the work ended while the check ran" } : { state: "running", note: null };
  }

  async #filter(of: string): Promise<{ subject: string } | { session: SessionId }> {
    const { store, sessions } = this.#options;
    if (isId("tsk", of) || isId("run", of) || isId("lnd", of) || subagentRunIdSchema.safeParse(of).success)
      return { subject: of };
    try {
      return { session: (await sessions.resolve(of)).id };
    } catch (error) {
      if (!isAegisError(error) || error.code !== "not_found") throw error;
      const runs: RunId[] = /^[0-9a-z]{4,26}$/.test(of) ? await store.read.runs.endingWith(of, 2) : [];
      const [run] = runs;
      if (run !== undefined && runs.length === 1) return { subject: run };
      throw new AegisError("not_found", `no session, task or run "${of}"`, { hint: error.message });
    }
  }
}
