/** Which skills a session has been given, from the record: so that none is given twice, and none is lost on the way. */
import type { EventOf } from "../../contract/event.ts";
import type { SessionId, TurnId } from "../../contract/ids.ts";
import type { SkillHow } from "../../contract/skill.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Store } from "../../store/store.ts";

export type GivenSkill = { name: string; version: string; how: SkillHow };

export type Given = {
  /** Name → version of what the agent has in mind. */
  current: ReadonlyMap<string, string>;
  /** What it had in mind before its conversation was summed up, the last one first. */
  forgotten: readonly string[];
};

const nothing: Given = { current: new Map(), forgotten: [] };
const mostEvents = 1_000;

export class GivenSkills {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** `remembers` is false for a conversation that begins anew: then nothing was given. */
  async of(session: SessionId, remembers: boolean): Promise<Given> {
    if (!remembers) return nothing;
    const events = await this.#store.read.events.list({
      session,
      types: ["skill.given", "turn.compaction"],
      limit: mostEvents,
      from: "newest",
    });
    if (events.length === 0) return nothing;
    let current = new Map<string, string>();
    const forgotten = new Map<string, number>();
    for (const event of events) {
      if (event.type === "turn.compaction") {
        for (const name of current.keys()) forgotten.set(name, event.seq);
        current = new Map();
      }
      if (event.type !== "skill.given" || !(await this.#arrived(event))) continue;
      for (const { name, version } of event.data.skills) {
        // What was given last stands last.
        current.delete(name);
        current.set(name, version);
        forgotten.delete(name);
      }
    }
    return { current, forgotten: [...forgotten.keys()].reverse() };
  }

  /** Written before the agent sees them: a turn that a crash cuts is told apart by its row. */
  async record(session: SessionId, turn: TurnId | null, skills: readonly GivenSkill[]): Promise<void> {
    if (skills.length === 0) return;
    await this.#store.transact((tx) =>
      tx.events.append(
        { type: "skill.given", session, data: { opening: turn, skills: [...skills] } },
        this.#clock.now(),
      ),
    );
  }

  /** How often each skill was used lately, in all sessions. */
  async uses(): Promise<Map<string, number>> {
    const uses = new Map<string, number>();
    const events = await this.#store.read.events.list({ types: ["skill.given"], limit: mostEvents, from: "newest" });
    for (const event of events)
      if (event.type === "skill.given")
        for (const { name } of event.data.skills) uses.set(name, (uses.get(name) ?? 0) + 1);
    return uses;
  }

  /** Whether the agent has on record what its turn began with. */
  async #arrived({ data: { opening: turn } }: EventOf<"skill.given">): Promise<boolean> {
    if (turn === null) return true;
    const row = await this.#store.read.turns.get(turn);
    return row !== null && (row.accepted || row.reason === "completed" || row.reason === "truncated");
  }
}
