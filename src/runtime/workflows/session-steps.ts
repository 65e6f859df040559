/** Steps about sessions: start one, talk to it, wait for it, close it. */
import { type AegisError, isAegisError } from "../../contract/errors.ts";
import type { Event } from "../../contract/event.ts";
import type { MessageId, SessionId } from "../../contract/ids.ts";
import { RunCancelled, type RunContext } from "../../engine/engine.ts";
import { errorText } from "../../lib/log.ts";
import type { Engine } from "../../plugin-api/engine.ts";
import { WorkflowError } from "../../plugin-api/errors.ts";
import { derivedId } from "../inbox/derived-id.ts";
import type { WorkflowDeps } from "./deps.ts";
import type { OwnSessions } from "./own-sessions.ts";
import { replyTo } from "./replies.ts";
import { until } from "./until.ts";

export type SessionSteps = Pick<Engine, "spawn" | "send" | "drain" | "close">;

type Sent = { message: MessageId; session: SessionId; deadline: number | null };

const endings: ReadonlySet<Event["type"]> = new Set<Event["type"]>([
  "turn.ended",
  "message.cancelled",
  "message.lost",
  "session.closed",
  "session.state",
]);

export function sessionSteps(context: RunContext, deps: WorkflowDeps, own: OwnSessions): SessionSteps {
  const { store, clock, sessions, inbox, log } = deps;
  const { run } = context;
  const cause = run.chain === null ? undefined : { chain: run.chain, hops: run.hops };
  const sender = { kind: "workflow" as const, name: run.workflow, run: run.id, status: null };

  const waitForReply = async ({ message, session, deadline }: Sent, handle: string, signal: AbortSignal) => {
    const onAbort = () => {
      // A daemon that stops leaves the message to the next one; a run that ends takes it back.
      if (signal.reason instanceof RunCancelled) void takeBack(message, session);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const reply = await until(store, clock, {
        look: () => replyTo(store.read, message, session),
        mayChange: (event) => event.session === session && endings.has(event.type),
        signal,
        deadline,
      });
      if (reply !== null) return reply;
      await inbox.cancel(message).catch(() => {});
      throw new WorkflowError(`${handle} did not answer in time`, { details: { message, session } });
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };

  const takeBack = async (message: MessageId, session: SessionId) => {
    try {
      await inbox.cancel(message);
    } catch (error) {
      if (!isAegisError(error)) log.warn("a message could not be taken back", { message, error: errorText(error) });
      else if (own.has(session)) await sessions.interrupt(session).catch(() => false);
    }
  };

  return {
    async spawn(agent, options = {}) {
      const spawned = await context.step<{ session: SessionId; handle: string }>(
        { method: "spawn", args: { agent, ...options }, label: `spawn ${agent}` },
        {
          async begin(tx, key) {
            const title = options.alias ?? `${run.workflow} · ${agent}`;
            const { handle } = options;
            const input = { id: derivedId("ses", key), agent, handle, title, startedFor: run.host };
            const { row } = await sessions.createIn(tx, input).catch((error: unknown) => {
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
            const admission = { id: derivedId("msg", key), session, sender, body: text, cause };
            const { message } = await inbox.admitIn(tx, admission).catch(expected);
            const deadline = options.timeout === undefined ? null : clock.now() + options.timeout * 1000;
            return { value: { message: message.id, session, deadline } };
          },
          perform({ begun, signal }) {
            const sent = begun as Sent;
            sessions.wake(sent.session);
            return waitForReply(sent, handle, signal);
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
            const look = async () =>
              (await Promise.all(ids.map((id) => isIdle(deps, id)))).every(Boolean) ? true : null;
            const mayChange = (event: Event) => event.session !== null && ids.includes(event.session);
            await until(store, clock, { look, mayChange, signal });
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
            await sessions
              .close(row.id, `closed by workflow ${run.workflow}`)
              .catch((error: unknown) => ignore(error, "closed", "not_found"));
          },
        },
      );
    },
  };
}

async function isIdle({ store }: WorkflowDeps, id: SessionId): Promise<boolean> {
  const row = await store.read.sessions.get(id);
  if (!row || row.closed_at !== null) return true;
  return row.state !== "working" && (await store.read.messages.countPending(id)) === 0;
}

/** What the world refuses is a failure of the workflow's matter, not a fault in it. */
export function expected(error: unknown): never {
  if (!isAegisError(error)) throw error;
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
