/** An event in a few words, for a webhook or a notification: ids and short texts. Clients fetch the rest by id. */

import type { Ask } from "@aegis/contract/ask.ts";
import type { WebhookEvent } from "@aegis/contract/channel.ts";
import type { EventOf } from "@aegis/contract/event.ts";
import { headline } from "@aegis/contract/headline.ts";
import type { SessionRow, StoreReads } from "@aegis/store/store.ts";

export type EventSummary = {
  /** One line. */
  title: string;
  text: string;
  /** True if a person has to act, or something failed. */
  urgent: boolean;
  data: Record<string, unknown>;
};

/** Webhook bodies stay below 20 kB. */
const longestText = 4_000;

export async function summaryOf(
  read: Pick<StoreReads, "sessions">,
  event: EventOf<WebhookEvent>,
): Promise<EventSummary> {
  const row = event.session === null ? null : await read.sessions.get(event.session);
  const name = row === null ? (event.session ?? "Aegis") : headline(row);
  const session = briefly(row);
  switch (event.type) {
    case "ask.opened":
      return askSummary(read, event.data.ask);
    case "ask.settled": {
      const { ask, status, answer, by = null } = event.data;
      const words = answer?.choice ?? status;
      return {
        title: `${name}: ask ${status}`,
        text: words,
        urgent: false,
        data: { session, ask, status, choice: answer?.choice ?? null, by },
      };
    }
    case "turn.ended": {
      const { turn, reason, error, text } = event.data;
      const isGood = reason === "completed" || reason === "cancelled";
      const shown = cut(error === null ? text : error.message);
      return {
        title: `${name}: turn ${reason}`,
        text: shown,
        urgent: !isGood,
        data: { session, turn, reason, text: cut(text), error: error === null ? null : cut(error.message) },
      };
    }
    case "task.ended": {
      const { queue, task, status, result, error } = event.data;
      const text = cut(error ?? result ?? "");
      const data = { queue, task, status, result: result === null ? null : cut(result), error };
      return { title: `${queue}: task ${status}`, text, urgent: status === "failed", data };
    }
    case "run.ended": {
      const { run, workflow, status, error } = event.data;
      const text = cut(error?.message ?? "");
      return {
        title: `${workflow}: run ${status}`,
        text,
        urgent: status === "error",
        data: { workflow, run, status, error: error === null ? null : text },
      };
    }
    case "schedule.ended": {
      const { schedule, firing, status, result, error } = event.data;
      const text = cut(error ?? result ?? "");
      return {
        title: `${schedule}: firing ${status}`,
        text,
        urgent: status === "error",
        data: { schedule, firing, status, error: error === null ? null : cut(error) },
      };
    }
    case "session.created":
      return {
        title: `${name} started`,
        text: row === null ? "" : `${row.handle}, agent ${row.agent}`,
        urgent: false,
        data: { session },
      };
    case "session.closed":
      return {
        title: `${name} closed`,
        text: cut(event.data.reason),
        urgent: false,
        data: { session, reason: cut(event.data.reason) },
      };
  }
}

export async function askSummary(read: Pick<StoreReads, "sessions">, ask: Ask): Promise<EventSummary> {
  const { id, kind, question, tool, options, digest, expires_at } = ask;
  const row = await read.sessions.get(ask.session);
  const data = { session: briefly(row), ask: { id, kind, question: cut(question), tool, options, digest, expires_at } };
  return { title: `${row === null ? ask.session : headline(row)} asks`, text: cut(question), urgent: true, data };
}

function briefly(row: SessionRow | null) {
  return row === null ? null : { id: row.id, handle: row.handle, agent: row.agent, title: row.title };
}

function cut(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText).toWellFormed()}…`;
}
