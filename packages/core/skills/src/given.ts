/** Reads from the event log which skills a session received, so that none is sent twice and none gets lost. */
import type { EventOf } from "@aegis/contract/event.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { SkillHow } from "@aegis/contract/skill.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Store } from "@aegis/store/store.ts";

export type GivenSkill = { name: string; version: string; how: SkillHow };

export type DeliveredSkills = {
  /** Name → version of the skills that the agent remembers. */
  current: ReadonlyMap<string, string>;
  /** The skills it had before its conversation was compacted or lost, most recent first. */
  forgotten: readonly string[];
};

const nothing: DeliveredSkills = { current: new Map(), forgotten: [] };
const mostEvents = 1_000;

export class GivenSkills {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async of(session: SessionId): Promise<DeliveredSkills> {
    const events = await this.#store.read.events.list({
      session,
      types: ["skill.given", "turn.compaction", "session.memory_lost"],
      limit: mostEvents,
      from: "newest",
    });
    if (events.length === 0) return nothing;
    let current = new Map<string, string>();
    const forgotten = new Map<string, number>();
    for (const event of events) {
      if (event.type === "turn.compaction" || event.type === "session.memory_lost") {
        for (const name of current.keys()) forgotten.set(name, event.seq);
        current = new Map();
      }
      if (event.type !== "skill.given" || !(await this.#arrived(event))) continue;
      for (const { name, version } of event.data.skills) {
        // Reinsert, so that the most recent one comes last.
        current.delete(name);
        current.set(name, version);
        forgotten.delete(name);
      }
    }
    return { current, forgotten: [...forgotten.keys()].reverse() };
  }

  /** Recorded before the agent gets them: the row of an interrupted turn shows whether they arrived. */
  async record(session: SessionId, turn: TurnId | null, skills: readonly GivenSkill[]): Promise<void> {
    if (skills.length === 0) return;
    await this.#store.transact((tx) =>
      tx.events.append(
        { type: "skill.given", session, data: { opening: turn, skills: [...skills] } },
        this.#clock.now(),
      ),
    );
  }

  /** How often each skill was used recently, in all sessions. */
  async uses(): Promise<Map<string, number>> {
    const uses = new Map<string, number>();
    const events = await this.#store.read.events.list({ types: ["skill.given"], limit: mostEvents, from: "newest" });
    for (const event of events)
      if (event.type === "skill.given")
        for (const { name } of event.data.skills) uses.set(name, (uses.get(name) ?? 0) + 1);
    return uses;
  }

  /** Whether the agent got the messages with which its turn started. */
  async #arrived({ data: { opening: turn } }: EventOf<"skill.given">): Promise<boolean> {
    if (turn === null) return true;
    const row = await this.#store.read.turns.get(turn);
    return row !== null && (row.accepted || row.reason === "completed" || row.reason === "truncated");
  }
}
