/**
 * Runs the check of a task, a subagent, a workflow step or a landing, and records a receipt. The row exists before the
 * command starts; its id is derived from the work and the turn, so after a crash the same check runs again or its
 * record is used. One transaction ends a receipt and sends the failure back to the agent.
 */
import type { Check } from "@aegis/contract/check.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { LandingId, MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { CheckReceipt } from "@aegis/contract/receipt.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { SerialByKey } from "@aegis/lib/serial.ts";
import { untilAborted } from "@aegis/lib/until-aborted.ts";
import type { SessionFolder } from "@aegis/sessions/extensions.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { ReceiptRow, Store, StoreTx } from "@aegis/store/store.ts";
import { type MeasureOptions, measure, notRun } from "./measure.ts";

export type ChecksOptions = Omit<MeasureOptions, "processes"> & {
  /** What starts a check of the session's work in the folder. Throws if it must be confined and cannot be. */
  confine: (session: SessionId, folder: string) => Promise<Processes>;
  store: Store;
  clock: Clock;
  inbox: Inbox;
  sessions: Pick<Sessions, "wake">;
  /** Where the session works. */
  folderOf: (session: SessionId) => Promise<SessionFolder>;
};

export type Verification = {
  kind: "task" | "subagent" | "step";
  subject: string;
  /** Groups the runs of one check; failures within it count towards `max_retries`. */
  scope: string;
  session: SessionId;
  /** The turn in which the agent said that it is done. */
  turn: TurnId;
  check: Check;
  consent: () => Promise<Consent>;
  signal: AbortSignal;
  /** False once the agent has begun something else: its next turn is checked instead. */
  stillTrue: (tx: StoreTx) => Promise<boolean>;
};

export type CheckOutcome =
  | { outcome: "passed"; receipt: CheckReceipt }
  /** The agent has a message with the output. */
  | { outcome: "returned"; message: MessageId }
  | { outcome: "failed"; receipt: CheckReceipt; error: string };

export class Checks {
  readonly #options: ChecksOptions;
  /** In one folder, one check at a time. */
  readonly #serial = new SerialByKey();
  readonly #started = Promise.withResolvers<void>();

  constructor(options: ChecksOptions) {
    this.#options = options;
  }

  /** From now on checks run: what they need, such as plugins, is there. */
  start(): void {
    this.#started.resolve();
  }

  /** Runs the check unless it has a receipt for this turn. Rejects only if the signal aborts or the store fails. */
  async verify(request: Verification): Promise<CheckOutcome> {
    const { store } = this.#options;
    const id = derivedId("rcp", `${request.scope}/${request.turn}`);
    const known = await store.read.receipts.get(id);
    const receipt = known === null || known.status === "running" ? await this.#check(id, request) : known;
    if (receipt.message !== null) return { outcome: "returned", message: receipt.message };
    if (receipt.status === "passed") return { outcome: "passed", receipt };
    return { outcome: "failed", receipt, error: failureOf(receipt) };
  }

  /** For a landing: checks exactly the tree that would land, in a folder of its own. */
  async land(
    landing: { id: LandingId; session: SessionId; next: string; check: string; tree: string },
    run: { cwd: string; consent: () => Promise<Consent>; signal: AbortSignal; timeoutMs: number },
  ): Promise<CheckReceipt> {
    const { store } = this.#options;
    const { id: subject, session, next, check: command } = landing;
    const id = derivedId("rcp", `${subject}/${next}`);
    const known = await store.read.receipts.get(id);
    if (known !== null && known.status !== "running") return known;
    const row = this.#row({ id, scope: subject, kind: "landing", subject, session, turn: null, command });
    await store.transact((tx) => tx.receipts.put(row));
    // The folder is a new checkout: files that the check writes there do not land.
    const files = { now: async () => ({ tree: landing.tree, head: next }), changed: async () => [] };
    const processes = this.#confined(session, run.cwd);
    const measured = await measure({ command, env: {}, ...run }, run.consent, { ...this.#options, files, processes });
    return this.#end({ ...row, ...measured }, async () => null);
  }

  async #check(id: ReceiptRow["id"], request: Verification): Promise<ReceiptRow> {
    const { store, folderOf, sessions } = this.#options;
    const { kind, subject, scope, session, turn, check, consent, signal } = request;
    await untilAborted(this.#started.promise, signal);
    const row = this.#row({ id, scope, kind, subject, session, turn, command: check.command });
    const folder = await folderOf(session).catch((error: unknown) => ({ problem: notRun(error) }));
    if ("problem" in folder) return this.#end({ ...row, status: "refused", ...folder }, async () => null);
    const { cwd, env } = folder;
    return this.#serial.run(cwd, async () => {
      signal.throwIfAborted();
      await store.transact((tx) => tx.receipts.put(row));
      const command = { command: check.command, cwd, env, timeoutMs: check.timeout * 1000, signal };
      const processes = this.#confined(session, cwd);
      const measured = await measure(command, consent, { ...this.#options, processes });
      const ended = await this.#end({ ...row, ...measured }, (tx, receipt) => this.#giveBack(tx, receipt, request));
      if (ended.message !== null) sessions.wake(session);
      return ended;
    });
  }

  #confined(session: SessionId, folder: string): Pick<Processes, "start"> {
    const { confine } = this.#options;
    return { start: async (command, consent) => (await confine(session, folder)).start(command, consent) };
  }

  /** Null if the agent gets no further try. */
  async #giveBack(tx: StoreTx, receipt: ReceiptRow, request: Verification): Promise<MessageId | null> {
    if (receipt.status !== "failed" || !(await request.stillTrue(tx))) return null;
    const { max_retries } = request.check;
    const returned = await tx.receipts.countReturned(receipt.scope);
    if (returned >= max_retries) return null;
    const id = derivedId("msg", `${receipt.id}/failed`);
    const body = failureMessage(receipt, max_retries - returned);
    try {
      await this.#options.inbox.admitIn(tx, { id, session: request.session, sender: { kind: "substrate" }, body });
      return id;
    } catch (error) {
      if (isAegisError(error) && (error.code === "closed" || error.code === "not_found")) return null;
      throw error;
    }
  }

  async #end(
    measured: ReceiptRow,
    giveBack: (tx: StoreTx, receipt: ReceiptRow) => Promise<MessageId | null>,
  ): Promise<ReceiptRow> {
    const { store, clock } = this.#options;
    return store.transact(async (tx) => {
      const receipt = { ...measured, message: await giveBack(tx, measured), ended_at: clock.now() };
      await tx.receipts.put(receipt);
      const { scope: _, ...shown } = receipt;
      const { session } = receipt;
      await tx.events.append({ type: "receipt.recorded", session, data: { receipt: shown } }, clock.now());
      return receipt;
    });
  }

  #row(about: Pick<ReceiptRow, "id" | "scope" | "kind" | "subject" | "session" | "turn" | "command">): ReceiptRow {
    return {
      ...about,
      status: "running",
      exit: null,
      duration_ms: null,
      tree: null,
      head: null,
      tail: "",
      counts: null,
      changed: [],
      problem: null,
      message: null,
      started_at: this.#options.clock.now(),
      ended_at: null,
    };
  }
}

function failureOf({ command, exit, status, problem }: CheckReceipt): string {
  if (status === "refused") return `the check \`${command}\` ${problem ?? "it was not run"}`.replace("` it ", "` ");
  return `the check \`${command}\` failed with exit code ${exit}${problem === null ? "" : ` (${problem})`}`;
}

function failureMessage(receipt: CheckReceipt, left: number): string {
  const chances = left === 1 ? "This is the last retry." : `${left} retries are left.`;
  return [
    `You said that you are done, but ${failureOf(receipt)}. Correct the cause, then end your turn: Aegis runs the check again. ${chances} Do not change the check itself.`,
    `The end of its output:\n\n${receipt.tail.trim() === "" ? "(it printed nothing)" : receipt.tail}`,
  ].join("\n\n");
}
