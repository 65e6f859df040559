import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type MessageHandlers = Pick<Handlers, "sendMessage" | "listMessages" | "getMessage" | "cancelMessage">;

export function messageHandlers({ sessions, door, inbox, attachments }: Services): MessageHandlers {
  return {
    async sendMessage({ path, body }) {
      const session = await sessions.resolve(path.session);
      const { id, text, mode } = body;
      return {
        receipt: await door.admit({
          id,
          session: session.id,
          sender: { kind: "human" },
          body: text,
          attachments: await attachments.keep(session, body.attachments),
          interrupt: body.interrupt || mode === "interrupt",
          steer: mode === "steer",
        }),
      };
    },
    async listMessages({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      return { messages: await inbox.list(id, query) };
    },
    getMessage: async ({ path }) => ({ message: await inbox.get(path.message) }),
    cancelMessage: async ({ path }) => ({ message: await inbox.cancel(path.message) }),
  };
}
