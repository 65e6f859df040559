/** What a conversation may ask of the daemon, for one session. */
import type { Agent } from "../contract/agent.ts";
import type { ConversationHost, PermissionAnswer, PermissionRequest } from "../drivers/driver.ts";
import type { Clock } from "../lib/clock.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { ToolRegistry } from "../runtime/registry/tools.ts";
import type { Turns } from "../runtime/sessions/turns.ts";
import type { SessionRow, Store } from "../store/store.ts";

export type HostOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  turns: Turns;
  tools: ToolRegistry;
  permission: (session: SessionRow, request: PermissionRequest, signal: AbortSignal) => Promise<PermissionAnswer>;
};

export function createHost(options: HostOptions, session: SessionRow, _agent: Agent): ConversationHost {
  const { store, clock, log, turns, tools } = options;
  const failed = (what: string) => (error: unknown) =>
    log.error(what, { session: session.id, error: errorText(error) });
  return {
    remember: (resume) => store.transact((tx) => tx.sessions.update(session.id, { resume })),
    prepareSpawn: async (command) => command,
    permission: (request, signal) => options.permission(session, request, signal),
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
      call: async (name, input, { key, signal }) => {
        // The row may have been renamed since the conversation was opened.
        const caller = (await store.read.sessions.get(session.id)) ?? session;
        return tools.call(name, input, { caller, key: `${session.id}/${key}`, signal });
      },
    },
  };
}
