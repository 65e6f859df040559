/** Finds the model of a session's turn, and its price if the harness does not report costs. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { type Price, type Prices, priceOf } from "@aegis/drivers/prices.ts";
import type { Store } from "@aegis/store/store.ts";

/** What is unknown is null. */
export type ModelPrice = { model: string | null; price: Price | null };

/** `reported` is the model that the harness named in this turn, or null. */
export type FindPrice = (session: SessionId, reported: string | null) => Promise<ModelPrice>;

/** A harness names its model when a conversation is opened, which may be many turns ago. */
const mostReports = 20;

export function priceFinder(options: { store: Store; agents: AgentTable; prices: () => Prices }): FindPrice {
  const { agents, prices } = options;
  const { read } = options.store;

  async function lastReported(session: SessionId): Promise<string | null> {
    const reports = await read.events.list({ session, types: ["turn.mode"], limit: mostReports, from: "newest" });
    const models = reports.flatMap((event) => (event.type === "turn.mode" ? (event.data.model ?? []) : []));
    return models.at(-1) ?? null;
  }

  return async (session, reported) => {
    const known = prices();
    const row = await read.sessions.get(session);
    const named = row?.limits?.model ?? (row === null ? null : (agents.loadAgent(row.agent)?.model ?? null));
    const told = reported ?? (await lastReported(session));
    const candidates = [told, named].filter((model) => model !== null);
    const price = candidates.reduce<Price | null>((found, model) => found ?? priceOf(model, known), null);
    return { model: storable(told ?? named), price };
  };
}

/** The name comes from the harness, and becomes part of each turn. */
function storable(model: string | null): string | null {
  return model === null ? null : model.replaceAll("\0", "").toWellFormed().slice(0, longestModel);
}

const longestModel = 200;
