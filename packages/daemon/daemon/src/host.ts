/** The services that the daemon offers to the conversation of one session. */
import type { ConversationHost, PermissionAnswer, PermissionRequest } from "@aegis/drivers/driver.ts";
import type { ConversationHooks } from "@aegis/hooks/conversation.ts";
import { worktreeFolder } from "@aegis/hooks/file-guard.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { StagedWrites } from "@aegis/lib/staged-writes.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import { recordMemoryLoss } from "@aegis/sessions/memory.ts";
import { asStartFailure } from "@aegis/sessions/refused-start.ts";
import type { Toolset } from "@aegis/sessions/tools/toolset.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import { whileAway } from "@aegis/store/transact.ts";

/** How long a conversation waits for its name to be stored. */
const rememberForMs = 10_000;
const never = new AbortController().signal;

export type HostOptions = {
  /** The project's folder. */
  root: string;
  judge: Pick<ConsentCheck, "session" | "agreedFile">;
  store: Store;
  clock: Clock;
  log: Logger;
  writes: StagedWrites;
  spontaneousTurn: ConversationHost["spontaneousTurn"];
  processes: ConversationHost["processes"];
  confined: boolean;
  hooks: (session: SessionRow, tools: Toolset) => ConversationHooks;
  /** Calls that a skill was granted need no approval. */
  permission: AskPermission;
  askPerson: AskPermission;
};

type AskPermission = (
  session: SessionRow,
  request: PermissionRequest,
  signal: AbortSignal,
) => Promise<PermissionAnswer>;

export function createHost(options: HostOptions, session: SessionRow, tools: Toolset): ConversationHost {
  const { store, clock, log } = options;
  const hooks = options.hooks(session, tools);
  /** Calls for which a plugin requires an approval, regardless of grants. */
  const toAsk = new Set<string>();
  const nameOf = ({ call, tool }: { call: string | null; tool: string }) => call ?? tool;
  /** The session's worktree, if it has one. */
  const folder = () => worktreeFolder(store, session.id, options.root);
  const failed = (what: string) => (error: unknown) =>
    log.error(what, { session: session.id, error: errorText(error) });
  return {
    remember: (resume) => {
      const remembered = () =>
        store.transact(async (tx) => {
          const before = (await tx.sessions.get(session.id))?.resume ?? null;
          // In one transaction with the name, so that a crash cannot leave a new conversation that looks like the old
          // one.
          if (resume === null && before !== null) await recordMemoryLoss(tx, session.id, clock);
          await tx.sessions.update(session.id, { resume });
        });
      const repetition = { clock, log, signal: never, what: "the name of a conversation", forMs: rememberForMs };
      return whileAway(remembered, { ...repetition, details: { session: session.id } });
    },
    prepareSpawn: hooks.prepareSpawn,
    consent: async () => judged(options.judge.session(tools.agent, await folder())),
    agreedFile: async (path) => judged(options.judge.agreedFile(tools.agent, path, await folder())),
    get gated() {
      return hooks.gated;
    },
    guarded: hooks.guarded,
    async beforeTool(use, signal) {
      const verdict = await hooks.beforeTool(use, signal);
      if (verdict.decision === "ask") toAsk.add(nameOf(use));
      return verdict;
    },
    afterTool: hooks.afterTool,
    endTool: hooks.endTool,
    noteRead: hooks.noteRead,
    writeFile: options.writes.write,
    beforeModel: hooks.beforeModel,
    async permission(request, signal) {
      const answer = toAsk.delete(nameOf(request)) ? options.askPerson : options.permission;
      const cwd = request.cwd ?? (await folder());
      return hooks.whileAsked(request, signal, () =>
        answer(session, cwd === null ? request : { ...request, cwd }, signal),
      );
    },
    notice(notice) {
      store
        .transact((tx) => tx.events.append({ type: "session.notice", session: session.id, data: notice }, clock.now()))
        .catch(failed("a notice could not be recorded"));
    },
    spontaneousTurn: options.spontaneousTurn,
    processes: options.processes,
    confined: options.confined,
    tools: {
      list: async () => tools.specs(),
      refusal: (name) => tools.refusal(name),
      call: async (name, input, { key, signal }) => {
        // The session may have been renamed since the conversation was opened.
        const caller = (await store.read.sessions.get(session.id)) ?? session;
        return tools.call(name, input, { caller, key: `${session.id}/${key}`, signal });
      },
    },
  };
}

async function judged<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw asStartFailure(error);
  }
}
