/**
 * Shows agents a numbered menu of the skills they may load. The full menu comes before the first turn, and again when
 * it has changed or the agent may have lost it. Later turns start with the skills that match the message. `load_skill`
 * returns the full text of a skill.
 *
 * While this plugin is loaded, Aegis itself does not offer skills (`offersSkills`), so agents see each skill once.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type HookSkill, hook } from "aegis";

/** A longer menu would distract from the work; `search_skills` finds the rest. */
const longestMenu = 100;

export const menu = hook("pre_turn", { offersSkills: true }, async (turn, { config, dataDir }) => {
  const { session, skills, summedUp } = turn;
  const told = new Told(dataDir, session.id);
  const all = skills.toSorted((a, b) => a.name.localeCompare(b.name));
  // An agent whose conversation was compacted has lost the menu.
  const signature = [summedUp, ...all.map(({ name, description }) => `${name} ${description}`)].join("\n");
  if ((await told.read()) !== signature) {
    await told.write(signature);
    return all.length === 0 ? null : { prependSystem: wholeMenu(all) };
  }
  const fitting = skills.filter((skill) => skill.score > 0).slice(0, topK(config));
  return fitting.length === 0 ? null : { prependSystem: shortMenu(fitting) };
});

/** The stored menu is deleted with its session. */
export const forget = hook("session_end", ({ session }, { dataDir }) => new Told(dataDir, session.id).remove());

function wholeMenu(skills: readonly HookSkill[]): string {
  const shown = skills.slice(0, longestMenu);
  const more = skills.length - shown.length;
  return [
    "Available skills:",
    "",
    ...lines(shown),
    ...(more > 0 ? [`… and ${more} more: find them with \`search_skills(query)\`.`] : []),
    "",
    "If one of them is relevant to your task, call `load_skill(name)` before you begin.",
  ].join("\n");
}

function shortMenu(skills: readonly HookSkill[]): string {
  return ["Skills that may help with this (`load_skill(name)`):", "", ...lines(skills)].join("\n");
}

function lines(skills: readonly HookSkill[]): string[] {
  return skills.map(({ name, description }, index) => `${index + 1}. ${name} — ${description}`);
}

function topK(config: Readonly<Record<string, unknown>>): number {
  const { top_k } = config;
  return typeof top_k === "number" && top_k >= 0 ? top_k : 3;
}

/** The menu that a session saw last. Stored on disk, because the session may outlive this worker. */
class Told {
  readonly #dir: string;
  readonly #path: string;

  constructor(dataDir: string, session: string) {
    this.#dir = join(dataDir, "told");
    this.#path = join(this.#dir, `${session.replace(/\W/g, "")}.txt`);
  }

  read(): Promise<string> {
    return readFile(this.#path, "utf8").catch(() => "");
  }

  async write(menu: string): Promise<void> {
    await mkdir(this.#dir, { recursive: true });
    await writeFile(this.#path, menu);
  }

  remove(): Promise<void> {
    return rm(this.#path, { force: true });
  }
}
