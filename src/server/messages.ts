import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type MessageHandlers = Pick<Handlers, "sendMessage" | "listMessages" | "getMessage" | "cancelMessage">;

export function messageHandlers({ sessions, inbox }: Services): MessageHandlers {
  return {
    async sendMessage({ path, body }) {
      const { id: session } = await sessions.resolve(path.session);
      const { id, text, interrupt } = body;
      return { receipt: await inbox.admit({ id, session, sender: { kind: "human" }, body: text, interrupt }) };
    },
    async listMessages({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      return { messages: await inbox.list(id, query) };
    },
    getMessage: async ({ path }) => ({ message: await inbox.get(path.message) }),
    cancelMessage: async ({ path }) => ({ message: await inbox.cancel(path.message) }),
  };
}
