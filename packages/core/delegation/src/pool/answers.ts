/** Waits for the answer of a pooled agent, and interrupts its turn when no caller waits. */
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { MessageId, SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { SessionProcesses } from "@aegis/nodes/session-processes.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import { lastText } from "@aegis/sessions/last-text.ts";
import { until } from "@aegis/sessions/until.ts";
import type { Store, StoreReads, TurnRow } from "@aegis/store/store.ts";
import { endEvents } from "../work/session-events.ts";

export type AnswersOptions = { store: Store; clock: Clock; inbox: Inbox; processes: SessionProcesses };

export type PoolQuestion = {
  session: SessionId;
  message: MessageId;
  /** The turn that asks, as of the beginning of the call: it may end before the agent has the task. Null without one. */
  callerTurn: TurnId | null;
  /** The call is a repetition: another caller may hold the session now. */
  repeated: boolean;
  timeoutMs: number | null;
  signal: AbortSignal;
  /** Aborts when the daemon stops: the turn continues after the next start, and the call is repeated. */
  stopping: AbortSignal;
};

export class Answers {
  readonly #options: AnswersOptions;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** Throws if the turn failed, was interrupted, or exceeded its time limit; the turn has ended then. */
  async get(question: PoolQuestion): Promise<string> {
    const { session, timeoutMs } = question;
    const { read } = this.#options.store;
    const turn = await this.#wait(question).catch(async (error: unknown) => {
      if (!question.stopping.aborted) await this.#cut(question);
      throw error;
    });
    if (turn === null) {
      await this.#cut(question);
      const words = await lastText(read, session);
      throw new AegisError(
        "timeout",
        `the agent did not finish within ${(timeoutMs ?? 0) / 60_000} min and was interrupted`,
        {
          hint: `agent_ask ${session} continues with it; ${words === null ? "it had said nothing yet" : `its last words: ${words}`}`,
        },
      );
    }
    if (turn.reason !== "completed") {
      const why = turn.error?.message ?? `its turn was ${turn.reason}`;
      throw new AegisError("unavailable", `the agent did not complete the task: ${why}`);
    }
    return turn.text === "" ? "The agent completed the task but said nothing about it." : turn.text;
  }

  async #wait(question: PoolQuestion): Promise<TurnRow | null> {
    const { store, clock } = this.#options;
    const { callerTurn } = question;
    return until({
      store,
      clock,
      signal: AbortSignal.any([question.signal, question.stopping]),
      deadline: question.timeoutMs === null ? null : clock.now() + question.timeoutMs,
      mayChange: (event) => endEvents.has(event.type),
      look: async () => {
        const answer = await answerTo(store.read, question);
        if (answer !== null) return answer;
        const asking = callerTurn === null ? null : await store.read.turns.get(callerTurn);
        // An interrupted harness may never complete its call.
        if (asking !== null && asking.ended_at !== null) throw new AegisError("closed", "the turn that asked is over");
        return null;
      },
    });
  }

  /** Cancels the message, or interrupts the turn that has it. */
  async #cut({ session, message, repeated }: PoolQuestion): Promise<void> {
    try {
      await this.#options.inbox.cancel(message);
    } catch (error) {
      if (!isAegisError(error) || error.code !== "conflict") throw error;
      const inTurn = (await this.#options.processes.current(session)).some((one) => one.id === message);
      // A following turn, for example about results of subagents, still belongs to the holder.
      if (inTurn || !repeated) await this.#options.processes.interrupt(session);
    }
  }
}

export async function openTurn(read: StoreReads, session: SessionId): Promise<TurnId | null> {
  const [turn] = await read.turns.list(session, 1);
  return turn === undefined || turn.ended_at !== null ? null : turn.id;
}

/** The last turn once no work is left: results of subagents may arrive after the turn that took the message. */
async function answerTo(read: StoreReads, { session, message: id, repeated }: PoolQuestion): Promise<TurnRow | null> {
  const message = await read.messages.get(id);
  if (message === null) throw new AegisError("not_found", `no message ${id}`);
  if (message.status === "refused" || message.status === "cancelled" || message.status === "lost") {
    throw new AegisError("closed", `the agent never answered: the task was ${message.status}`);
  }
  if (message.status !== "done" || message.turn === null) return null;
  const own = await read.turns.get(message.turn);
  if (repeated && own?.reason === "completed") return own;
  if ((await read.messages.countPending(session)) > 0 || (await read.subagents.countRunning(session)) > 0) return null;
  const [last] = await read.turns.list(session, 1);
  return last === undefined || last.ended_at === null ? null : last;
}
