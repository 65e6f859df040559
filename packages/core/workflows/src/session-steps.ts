/** Session steps of workflows: start, send, wait and close. */

import { endableSession, endRefusal } from "@aegis/agents/rights/may-end.ts";
import { starterOfRun } from "@aegis/agents/rights/starter.ts";
import { type AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import { answerEvents } from "@aegis/delegation/work/session-events.ts";
import { RunCancelled, type RunContext } from "@aegis/engine/engine.ts";
import { errorText } from "@aegis/lib/log.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";
import { WorkflowError } from "@aegis/plugin-api/errors.ts";
import type { WorkflowContext } from "@aegis/plugin-api/workflow-context.ts";
import { derivedId, wantedId } from "@aegis/sessions/inbox/derived-id.ts";
import { until } from "@aegis/sessions/until.ts";
import type { SessionRow } from "@aegis/store/store.ts";
import { cannotWrite, StoreAwayError } from "@aegis/store/transact.ts";
import { checkedReply, readCheck } from "./checked-reply.ts";
import type { StepDeps } from "./deps.ts";
import type { OwnSessions } from "./own-sessions.ts";
import { replyTo } from "./replies.ts";

export type SessionSteps = Pick<WorkflowContext, "spawn" | "send" | "drain" | "close">;

type Sent = { message: MessageId; session: SessionId; deadline: number | null };

export function sessionSteps(context: RunContext, deps: StepDeps, own: OwnSessions): SessionSteps {
  const { store, clock, agents, sessions, inbox, log } = deps;
  const { run } = context;
  const { cause, sender } = messagesOf(run);

  const waitForReply = async ({ message, session, deadline }: Sent, handle: string, signal: AbortSignal) => {
    const reply = await until({
      store,
      clock,
      async look() {
        // The message that a cancelled run takes back must not count as a failure to answer.
        signal.throwIfAborted();
        return replyTo(store.read, message, session);
      },
      mayChange: ({ session: of, type }) => of === session && (answerEvents.has(type) || type === "session.state"),
      signal,
      deadline,
    });
    if (reply !== null) return reply;
    await inbox.cancel(message).catch(() => {});
    throw new WorkflowError(`${handle} did not answer in time`, { details: { message, session } });
  };

  const takeBack = async (message: MessageId, session: SessionId) => {
    try {
      await inbox.cancel(message);
    } catch (error) {
      if (!isAegisError(error)) log.warn("a message could not be taken back", { message, error: errorText(error) });
      else if (own.has(session)) await sessions.interrupt(session).catch(() => false);
    }
  };

  /** A person's run may close any session; an agent's run only its own and those that the agent may end. */
  const checkMayClose = async (row: SessionRow) => {
    const starter = own.has(row.id) ? null : await starterOfRun(store.read, run, agents);
    const refusal = starter === null ? null : endRefusal(starter, endableSession(row, agents));
    if (refusal !== null) throw new WorkflowError(`cannot close ${row.handle}: ${refusal}`);
  };

  return {
    async spawn(agent, options = {}) {
      const spawned = await context.step<{ session: SessionId; handle: string }>(
        { method: "spawn", args: { agent, ...options }, label: `spawn ${agent}` },
        {
          async begin(tx, key) {
            const title = options.alias ?? `${run.workflow} · ${agent}`;
            const { handle } = options;
            const starter = await starterOfRun(tx, run, agents);
            const input = { id: derivedId("ses", key), agent, handle, title, starter };
            const { row } = await sessions.createIn(tx, input).catch((error: unknown) => {
              // The engine repeats a unit that could not be stored.
              if (cannotWrite(error)) throw error;
              throw new WorkflowError(`spawn "${agent}" failed: ${errorText(error)}`, { cause: error });
            });
            return { value: { session: row.id, handle: row.handle }, session: row.id };
          },
          perform: async ({ begun }) => begun as { session: SessionId; handle: string },
        },
      );
      own.add(spawned.handle, spawned.session);
      return spawned.handle;
    },

    send: (handle, text, options = {}) =>
      context.step(
        { method: "send", args: { handle, text, ...options }, label: `send ${handle}: ${firstLine(text)}` },
        {
          async begin(tx, key) {
            const { id: session } = await own.find(tx, handle).catch(expected);
            const wanted = async (id: MessageId) => (await tx.messages.get(id))?.status !== "cancelled";
            const admission = { id: await wantedId("msg", key, wanted), session, sender, body: text, cause };
            const { message } = await inbox.admitIn(tx, admission).catch(expected);
            const deadline = options.timeout === undefined ? null : clock.now() + options.timeout * 1000;
            return { value: { message: message.id, session, deadline } };
          },
          async perform({ begun, signal, key }) {
            const sent = begun as Sent;
            sessions.wake(sent.session);
            const reply = (message: MessageId) =>
              whileWanted(
                signal,
                () => void takeBack(message, sent.session),
                () => waitForReply({ ...sent, message }, handle, signal),
              );
            if (options.check === undefined) return (await reply(sent.message)).text;
            return checkedReply(context, deps, { ...sent, key, check: readCheck(options.check), signal, reply });
          },
        },
      ),

    async drain(handle) {
      const which = handle ?? "all sessions of the run";
      await context.step(
        { method: "drain", args: { handle: handle ?? null }, label: `drain ${which}` },
        {
          begin: async () => ({ value: null }),
          async perform({ signal }) {
            const ids = handle === undefined ? own.ids : [(await own.find(store.read, handle).catch(expected)).id];
            const look = async () => {
              signal.throwIfAborted();
              return (await Promise.all(ids.map((id) => isIdle(deps, id)))).every(Boolean) ? true : null;
            };
            const mayChange = (event: Event) => event.session !== null && ids.includes(event.session);
            await until({ store, clock, look, mayChange, signal, deadline: null });
          },
        },
      );
    },

    async close(handle) {
      await context.step(
        { method: "close", args: { handle }, label: `close ${handle}` },
        {
          async perform() {
            const row = await own.find(store.read, handle).catch((error: unknown) => ignore(error, "not_found"));
            if (!row) return;
            if (row.id === run.host) throw new WorkflowError(`cannot close ${handle}: the run works for it`);
            await checkMayClose(row);
            await sessions
              .close(row.id, `closed by workflow ${run.workflow}`)
              .catch((error: unknown) => ignore(error, "closed", "not_found"));
          },
        },
      );
    },
  };
}

async function isIdle({ store }: Pick<StepDeps, "store">, id: SessionId): Promise<boolean> {
  // Read before the state: a turn may take the pending messages in between.
  const pending = await store.read.messages.countPending(id);
  const row = await store.read.sessions.get(id);
  if (!row || row.closed_at !== null) return true;
  return row.state !== "working" && pending === 0;
}

/** The sender of the messages of a run, and the message that caused them. */
export function messagesOf({ id, workflow, chain, hops }: RunContext["run"]) {
  return {
    sender: { kind: "workflow", name: workflow, run: id, status: null } as const,
    cause: chain === null ? undefined : { chain, hops },
  };
}

/**
 * Does the work of a step. If the run is cancelled meanwhile, `withdraw` takes back what the step waits for; a stopping
 * daemon leaves it to the next one.
 */
export async function whileWanted<T>(signal: AbortSignal, withdraw: () => void, work: () => Promise<T>): Promise<T> {
  const release = onAbort(signal, () => {
    if (signal.reason instanceof RunCancelled) withdraw();
  });
  try {
    return await work();
  } finally {
    release();
  }
}

/**
 * An external refusal is an expected failure of the workflow, not a bug in it. A database that is away refuses nothing:
 * the engine repeats the unit.
 */
export function expected(error: unknown): never {
  if (!isAegisError(error) || error instanceof StoreAwayError) throw error;
  throw new WorkflowError(error.hint === undefined ? error.message : `${error.message} (${error.hint})`, {
    cause: error,
  });
}

function ignore(error: unknown, ...codes: AegisError["code"][]): null {
  if (isAegisError(error) && codes.includes(error.code)) return null;
  throw error;
}

function firstLine(text: string): string {
  return text.trimStart().split("\n", 1)[0]?.slice(0, 80) ?? "";
}
