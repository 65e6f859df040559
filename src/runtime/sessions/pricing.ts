/** Which price counts for a session whose harness does not say what its turns cost. */
import type { SessionId } from "../../contract/ids.ts";
import type { Store } from "../../store/store.ts";
import type { AgentRegistry } from "../registry/agents.ts";
import { type Price, type Prices, priceOf } from "../registry/prices.ts";

/** `reported` is what the harness called its model in this turn, null when it did not say. Null when nobody knows. */
export type FindPrice = (session: SessionId, reported: string | null) => Promise<Price | null>;

/** A harness names its model when a conversation is opened, which may be many turns ago. */
const mostReports = 20;

export function priceFinder(options: { store: Store; agents: AgentRegistry; prices: () => Prices }): FindPrice {
  const { agents, prices } = options;
  const { read } = options.store;

  async function lastReported(session: SessionId): Promise<string | null> {
    const reports = await read.events.list({ session, types: ["turn.mode"], limit: mostReports, from: "newest" });
    const models = reports.flatMap((event) => (event.type === "turn.mode" ? (event.data.model ?? []) : []));
    return models.at(-1) ?? null;
  }

  return async (session, reported) => {
    const known = prices();
    if (Object.keys(known).length === 0) return null;
    const row = await read.sessions.get(session);
    const named = row?.limits?.model ?? (row === null ? null : (agents.loadAgent(row.agent)?.model ?? null));
    for (const model of [reported ?? (await lastReported(session)), named]) {
      const price = model === null ? null : priceOf(model, known);
      if (price !== null) return price;
    }
    return null;
  };
}
