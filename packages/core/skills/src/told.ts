/** What each open conversation knows of the skills: the list in its system prompt, and what it was told since. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Store } from "@aegis/store/store.ts";
import type { SkillOutline } from "./skill.ts";
import type { SkillMenu } from "./skill-list.ts";

/** The skills that it heard of, and the names of those whose description it has seen. */
type Known = { listed: readonly SkillOutline[]; described: ReadonlySet<string> };

export class ToldSkills {
  readonly #told = new Map<SessionId, { text: string; atStart: Known; since: Known }>();

  constructor(store: Store) {
    store.onCommit(
      (events) => {
        for (const { type, session } of events) {
          if (session === null) continue;
          if (type === "session.closed") this.#told.delete(session);
          const told = type === "turn.compaction" ? this.#told.get(session) : undefined;
          // Updates are part of the conversation and lost with it; the system prompt is not.
          if (told !== undefined) this.#told.set(session, { ...told, since: told.atStart });
        }
      },
      ["session.closed", "turn.compaction"],
    );
  }

  /** The list of an open conversation. */
  text(session: SessionId): string | undefined {
    return this.#told.get(session)?.text;
  }

  since(session: SessionId): Known | undefined {
    return this.#told.get(session)?.since;
  }

  begin(session: SessionId, { text, described }: SkillMenu, listed: readonly SkillOutline[]): void {
    const known = { listed, described: namesOf(described) };
    this.#told.set(session, { text, atStart: known, since: known });
  }

  add(session: SessionId, { described }: SkillMenu, listed?: readonly SkillOutline[]): void {
    const told = this.#told.get(session);
    if (told === undefined) return;
    const { since } = told;
    const names = new Set([...since.described, ...namesOf(described)]);
    this.#told.set(session, { ...told, since: { listed: listed ?? since.listed, described: names } });
  }
}

function namesOf(skills: readonly SkillOutline[]): ReadonlySet<string> {
  return new Set(skills.map(({ name }) => name));
}
