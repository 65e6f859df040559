import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type SessionHandlers = Pick<
  Handlers,
  | "listSessions"
  | "createSession"
  | "getSession"
  | "updateSession"
  | "closeSession"
  | "interruptSession"
  | "forkSession"
  | "markSeen"
  | "history"
  | "listTurns"
  | "getTurn"
>;

const defaultClient = "default";

export function sessionHandlers({ sessions, door, events }: Services): SessionHandlers {
  return {
    listSessions: async ({ query }) => ({ sessions: await sessions.list(query) }),
    createSession: ({ body }) => door.create(body),
    async getSession({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      return { session: await sessions.view(id, query.client) };
    },
    async updateSession({ path, body }) {
      const { id } = await sessions.resolve(path.session);
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
      return events.history(id, query);
    },
    async listTurns({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      return { turns: await sessions.turns(id, query.limit) };
    },
    getTurn: async ({ path }) => ({ turn: await sessions.turn(path.turn) }),
  };
}
