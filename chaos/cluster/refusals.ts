/**
 * Work that ran while the disk of the server was full. Aegis refuses it and says so: a tool fails, a permission is
 * denied, a turn or a run ends as failed. That is no loss. A message that was acknowledged must be there in any case, and
 * nothing may happen twice.
 */
import type { Event } from "@aegis/contract/event.ts";
import type { Finding } from "../check.ts";

export type Window = { from: number; to: number };

/** Splits findings into those that stand and those that a full disk explains. */
export function withoutRefusals(
  findings: readonly Finding[],
  events: readonly Event[],
  full: readonly Window[],
): { standing: Finding[]; refused: Finding[] } {
  const excused = tokensOfTurns(events, full);
  const isRefused = ({ kind, what }: Finding) =>
    kind !== "doubled" && !what.includes("is gone") && tokensOf(what).some((token) => excused.has(token));
  return { standing: findings.filter((one) => !isRefused(one)), refused: findings.filter(isRefused) };
}

/** The tokens of all messages whose turn was open at some time while the disk was full. */
function tokensOfTurns(events: readonly Event[], full: readonly Window[]): Set<string> {
  const bodies = new Map<string, string>();
  const started = new Map<string, { at: number; messages: readonly string[] }>();
  const tokens = new Set<string>();
  for (const event of events) {
    if (event.type === "message.admitted") bodies.set(event.data.message.id, event.data.message.body);
    if (event.type === "turn.started") started.set(event.data.turn, { at: event.at, messages: event.data.messages });
    if (event.type === "run.ended" && event.data.error?.message.includes("is full: nothing was stored"))
      for (const token of tokensOf(event.data.run)) tokens.add(token);
    if (event.type !== "turn.ended") continue;
    const turn = started.get(event.data.turn);
    if (turn === undefined || !full.some(({ from, to }) => turn.at <= to && event.at >= from)) continue;
    for (const id of turn.messages) for (const token of tokensOf(bodies.get(id) ?? "")) tokens.add(token);
  }
  return tokens;
}

/** Without the word that says what is to be done. */
function tokensOf(text: string): string[] {
  return [...text.matchAll(/\b(?:token-|act-|permit-|order-|run_)(\w{26})/g)].map(([, id = ""]) => id);
}
