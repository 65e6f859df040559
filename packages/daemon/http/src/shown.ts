/**
 * What the API shows of rows that keep their text while it is needed: a message without an answer, a task that can run
 * again, and an answer that has not reached the session that asked. A client sees these rows without known secrets.
 */
import type { Ask } from "@aegis/contract/ask.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Task } from "@aegis/contract/task.ts";
import { type Redact, redacted } from "@aegis/lib/redact.ts";

export type RedactedViews = ReturnType<typeof shownWithout>;

export function shownWithout(redact: Redact) {
  return {
    ask: (ask: Ask): Ask => ({ ...ask, answer: redacted(ask.answer, redact) }),
    message: (message: Message): Message => ({
      ...message,
      ...redacted({ body: message.body, sent: message.sent }, redact),
    }),
    task: <T extends Pick<Task, "payload">>(task: T): T => ({ ...task, payload: redact(task.payload) }),
  };
}
