import { AegisError } from "@aegis/contract/errors.ts";
import type { EventHub } from "@aegis/events/hub.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Worktrees } from "@aegis/worktrees/worktrees.ts";
import { senderOf } from "./messages.ts";
import type { Handlers } from "./requests.ts";
import type { RedactedViews } from "./shown.ts";

/** What these handlers call. */
export type SessionServices = {
  sessions: Pick<
    Sessions,
    | "list"
    | "create"
    | "resolve"
    | "view"
    | "rename"
    | "setTitle"
    | "assign"
    | "close"
    | "interrupt"
    | "fork"
    | "markSeen"
    | "turns"
    | "turn"
  >;
  events: Pick<EventHub, "history">;
  worktrees: Pick<Worktrees, "check">;
  shown: RedactedViews;
  /** Null without a cluster. */
  nodes: object | null;
};

const defaultClient = "default";

export function sessionHandlers({ sessions, events, worktrees, shown, nodes }: SessionServices) {
  return {
    listSessions: async ({ query }) => ({ sessions: await sessions.list(query) }),
    async createSession({ body }, _signal, caller) {
      if (body.base !== undefined && body.isolation === "none")
        throw new AegisError(
          "invalid",
          "base: expected isolation: worktree, because only a worktree starts from a base",
        );
      if (body.nodes !== undefined && nodes === null)
        throw new AegisError("invalid", "nodes: this project has no cluster, so its sessions cannot require labels", {
          hint: "docs/cluster.md explains how to set up a cluster",
        });
      if (body.isolation === "worktree") await worktrees.check(body.base);
      return sessions.create({ ...body, sender: senderOf(caller) });
    },
    async getSession({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      return { session: await sessions.view(id, query.client) };
    },
    async updateSession({ path, body }) {
      const { id } = await sessions.resolve(path.session);
      // First, because it may be refused: a refused request must leave nothing changed.
      if (body.agent !== undefined || body.model !== undefined) await sessions.assign(id, body);
      if (body.handle !== undefined) await sessions.rename(id, body.handle);
      if (body.title !== undefined) await sessions.setTitle(id, body.title, "human");
      return { session: await sessions.view(id, defaultClient) };
    },
    async closeSession({ path }) {
      const { id } = await sessions.resolve(path.session);
      const refused = await sessions.close(id, "closed by a client");
      return { session: await sessions.view(id, defaultClient), refused };
    },
    async interruptSession({ path }) {
      const { id } = await sessions.resolve(path.session);
      return { interrupted: await sessions.interrupt(id) };
    },
    async forkSession({ path, body }) {
      const { id } = await sessions.resolve(path.session);
      return sessions.fork(id, body);
    },
    async markSeen({ path, body }) {
      const { id } = await sessions.resolve(path.session);
      return { unseen: await sessions.markSeen(id, body.client, body.seq) };
    },
    async history({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      const page = await events.history(id, query);
      return { ...page, messages: page.messages.map((message) => shown.message(message)) };
    },
    async listTurns({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      return { turns: await sessions.turns(id, query.limit) };
    },
    getTurn: async ({ path }) => ({ turn: await sessions.turn(path.turn) }),
  } satisfies Partial<Handlers>;
}
