/** What the database itself says, and what the agents wrote, about work that was done twice or has no owner. */

import type { Event } from "@aegis/contract/event.ts";
import { isTransient } from "@aegis/store-postgres/errors.ts";
import { Client } from "pg";
import type { Finding } from "../check.ts";
import { twinProcesses } from "../journal.ts";
import type { Checked } from "../scenario.ts";

const schema = "aegis_chaos";

/** At every moment: a take-over ends the turns of a node in the transaction that ends its membership. */
const atAnyTime = {
  "an open turn without an owner": `SELECT t.id AS what FROM turns t JOIN sessions s ON s.id = t.session
    WHERE t.ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.name = s.node AND n.alive = 1)`,
  "two open turns of one session": `SELECT session AS what FROM turns WHERE ended_at IS NULL
    GROUP BY session HAVING count(*) > 1`,
  "a slot that fired twice": `SELECT schedule || ' ' || slot AS what FROM firings WHERE manual = 0
    GROUP BY schedule, slot HAVING count(*) > 1`,
  "a dispatched task without an owner": `SELECT id AS what FROM tasks WHERE status = 'dispatched'
    AND NOT EXISTS (SELECT 1 FROM nodes n WHERE n.name = tasks.node AND n.alive = 1)`,
} as const;

/** When all work has ended. */
const atTheEnd = {
  "an open turn": "SELECT id AS what FROM turns WHERE ended_at IS NULL",
  "a message that waits": "SELECT id AS what FROM messages WHERE status = 'pending'",
  "a firing that has not ended": "SELECT id AS what FROM firings WHERE ended_at IS NULL",
  "a run that has not ended": "SELECT id AS what FROM runs WHERE ended_at IS NULL",
  "a gap in the events":
    "SELECT seq::text AS what FROM (SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM events) e WHERE seq <> before + 1",
} as const;

export class Counts {
  readonly #url: string;
  readonly #found = new Map<string, Finding>();
  #looks = 0;

  constructor(url: string) {
    this.#url = url;
  }

  /** Looks once. A server that is away is looked at in the next round. */
  async look(): Promise<void> {
    try {
      await this.#ask(atAnyTime);
      this.#looks += 1;
    } catch (error) {
      if (!isTransient(error)) throw error;
    }
  }

  async check(events: readonly Event[], base: string): Promise<Checked> {
    await this.look();
    // A schedule may have fired since the events were read.
    const stored = await this.#ask(atTheEnd, events.at(-1)?.seq);
    if (stored !== events.length)
      this.#find("different", `the API gives ${events.length} events and the database has ${stored}`);
    for (const what of overlaps(events)) this.#find("doubled", what);
    for (const what of firedTwice(events)) this.#find("doubled", what);
    const twins = await twinProcesses(base);
    if (twins > 0) this.#find("doubled", `two processes worked for one session, ${twins} times`);
    const lost = events.filter(({ type }) => type === "node.lost").length;
    const joined = events.filter(({ type }) => type === "node.joined").length;
    const cut = events.filter((event) => event.type === "turn.ended" && event.data.reason === "lost").length;
    return {
      findings: [...this.#found.values()],
      counts: { "looks at the database": this.#looks, "nodes joined": joined, "take-overs": lost, "cut turns": cut },
    };
  }

  /** Returns the number of events up to this one. */
  async #ask(questions: Readonly<Record<string, string>>, until = 0): Promise<number> {
    const client = new Client(this.#url);
    client.on("error", () => {});
    await client.connect();
    try {
      await client.query(`SET search_path = ${schema}`);
      for (const [name, text] of Object.entries(questions)) {
        const { rows } = await client.query<{ what: string }>(text);
        for (const { what } of rows) this.#find(kindOf(name), `${name}: ${what}`);
      }
      const { rows } = await client.query<{ count: string }>("SELECT count(*) AS count FROM events WHERE seq <= $1", [
        until,
      ]);
      return Number(rows[0]?.count);
    } finally {
      await client.end().catch(() => {});
    }
  }

  #find(kind: Finding["kind"], what: string): void {
    this.#found.set(what, { kind, what });
  }
}

function kindOf(name: string): Finding["kind"] {
  if (/twice|two/.test(name)) return "doubled";
  return /owner/.test(name) ? "lost" : "unanswered";
}

/** Turns of one session that were open at the same time. */
function overlaps(events: readonly Event[]): string[] {
  const open = new Map<string, string>();
  return events.flatMap((event) => {
    if (event.type === "turn.ended" && event.session !== null) open.delete(event.session);
    if (event.type !== "turn.started" || event.session === null) return [];
    const before = open.get(event.session);
    open.set(event.session, event.data.turn);
    return before === undefined ? [] : [`${event.data.turn} of ${event.session} began while ${before} was open`];
  });
}

function firedTwice(events: readonly Event[]): string[] {
  const seen = new Set<string>();
  return events.flatMap((event) => {
    if (event.type !== "schedule.fired" || event.data.firing.manual) return [];
    const slot = `${event.data.schedule} ${new Date(event.data.firing.slot).toISOString()}`;
    if (seen.has(slot)) return [`${slot} fired twice`];
    seen.add(slot);
    return [];
  });
}
