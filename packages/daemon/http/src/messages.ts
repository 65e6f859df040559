import { AegisError } from "@aegis/contract/errors.ts";
import type { MessageId } from "@aegis/contract/ids.ts";
import type { Sender } from "@aegis/contract/message.ts";
import type { WhyLink } from "@aegis/contract/why.ts";
import type { Attachments } from "@aegis/sessions/inbox/attachments.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Caller } from "./guard.ts";
import type { Handlers } from "./requests.ts";
import type { RedactedViews } from "./shown.ts";

/** What these handlers call. */
export type MessageServices = {
  sessions: Pick<Sessions, "resolve" | "agentProblem">;
  inbox: Pick<Inbox, "admit" | "cancel" | "get" | "list">;
  attachments: Pick<Attachments, "keep" | "read">;
  shown: RedactedViews;
  /** The causes of a message, the message first. Throws `not_found`. */
  why(message: MessageId): Promise<WhyLink[]>;
};

export function messageHandlers({ sessions, inbox, attachments, shown, why }: MessageServices) {
  return {
    async sendMessage({ path, body }, _signal, caller) {
      const session = await sessions.resolve(path.session);
      const { id, text, mode } = body;
      const receipt = await inbox.admit({
        id,
        session: session.id,
        sender: senderOf(caller),
        body: text,
        attachments: body.attachments.length === 0 ? [] : await attachments.keep(session, body.attachments),
        interrupt: body.interrupt || mode === "interrupt",
        steer: mode === "steer",
      });
      // A message goes on to another session only if that one's agent can start.
      return { receipt, agent_problem: receipt.session === session.id ? sessions.agentProblem(session) : null };
    },
    async listMessages({ path, query }) {
      const { id } = await sessions.resolve(path.session);
      return { messages: (await inbox.list(id, query)).map((message) => shown.message(message)) };
    },
    getMessage: async ({ path }) => ({ message: shown.message(await inbox.get(path.message)) }),
    why: async ({ path }) => ({ links: await why(path.message) }),
    async getAttachment({ path }) {
      const { attachments: known } = await inbox.get(path.message);
      const attachment = known.find(({ sha256 }) => sha256 === path.sha256);
      if (attachment === undefined)
        throw new AegisError("not_found", `the message ${path.message} has no image ${path.sha256}`);
      return { attachment, data: (await attachments.read(attachment)).toString("base64") };
    },
    cancelMessage: async ({ path }) => ({ message: shown.message(await inbox.cancel(path.message)) }),
  } satisfies Partial<Handlers>;
}

/** The sender of what a caller writes. The text of a client is not the user's. */
export function senderOf(caller: Caller): Sender {
  return caller.kind === "owner" ? { kind: "human" } : { kind: "client", name: caller.name };
}
