/** What a conversation may ask of the daemon, for one session. */
import type { ConversationHost, PermissionAnswer, PermissionRequest } from "../drivers/driver.ts";
import type { Clock } from "../lib/clock.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { ConversationHooks } from "../runtime/hooks/conversation.ts";
import type { Toolset } from "../runtime/registry/toolset.ts";
import type { Turns } from "../runtime/sessions/turns.ts";
import type { SessionRow, Store } from "../store/store.ts";

export type HostOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  turns: Turns;
  hooks: (session: SessionRow, tools: Toolset) => ConversationHooks;
  /** What skills have been granted needs no person. */
  permission: AskPermission;
  askPerson: AskPermission;
};

type AskPermission = (
  session: SessionRow,
  request: PermissionRequest,
  signal: AbortSignal,
) => Promise<PermissionAnswer>;

export function createHost(options: HostOptions, session: SessionRow, tools: Toolset): ConversationHost {
  const { store, clock, log, turns } = options;
  const hooks = options.hooks(session, tools);
  /** Calls about which a plugin wants a person asked, whatever was granted. */
  const toAsk = new Set<string>();
  const nameOf = ({ call, tool }: { call: string | null; tool: string }) => call ?? tool;
  const failed = (what: string) => (error: unknown) =>
    log.error(what, { session: session.id, error: errorText(error) });
  return {
    remember: (resume) => store.transact((tx) => tx.sessions.update(session.id, { resume })),
    prepareSpawn: (command) => hooks.prepareSpawn(command),
    get gated() {
      return hooks.gated;
    },
    async beforeTool(use, signal) {
      const verdict = await hooks.beforeTool(use, signal);
      if (verdict.decision === "ask") toAsk.add(nameOf(use));
      return verdict;
    },
    afterTool: (use, outcome, signal) => hooks.afterTool(use, outcome, signal),
    beforeModel: (request, signal) => hooks.beforeModel(request, signal),
    permission(request, signal) {
      const answer = toAsk.delete(nameOf(request)) ? options.askPerson : options.permission;
      return answer(session, request, signal);
    },
    notice(notice) {
      store
        .transact((tx) => tx.events.append({ type: "session.notice", session: session.id, data: notice }, clock.now()))
        .catch(failed("a notice could not be recorded"));
    },
    spontaneousTurn(events) {
      turns.spontaneous(session.id, events).catch(failed("a turn the harness started could not be recorded"));
    },
    tools: {
      list: async () => tools.specs(),
      refusal: (name) => tools.refusal(name),
      call: async (name, input, { key, signal }) => {
        // The row may have been renamed since the conversation was opened.
        const caller = (await store.read.sessions.get(session.id)) ?? session;
        return tools.call(name, input, { caller, key: `${session.id}/${key}`, signal });
      },
    },
  };
}
