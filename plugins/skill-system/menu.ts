/**
 * Shows agents a numbered menu of the skills they may load: all of them before the first turn and whenever the menu has
 * changed or may be forgotten, and before later turns those that fit the message. `load_skill` of Aegis gives the whole
 * text of one.
 *
 * While this plugin is loaded Aegis itself tells agents of no skills (`offersSkills`), so nothing is told twice.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type HookSkill, hook } from "aegis";

/** A menu longer than that would push the work aside; the rest is found with `search_skills`. */
const longestMenu = 100;

export const menu = hook("pre_turn", { offersSkills: true }, async (turn, { config, dataDir }) => {
  const { session, skills, summedUp } = turn;
  const told = new Told(dataDir, session.id);
  const all = skills.toSorted((a, b) => a.name.localeCompare(b.name));
  // An agent whose conversation was summed up has lost the menu with it.
  const signature = [summedUp, ...all.map(({ name, description }) => `${name} ${description}`)].join("\n");
  if ((await told.read()) !== signature) {
    await told.write(signature);
    return all.length === 0 ? null : { prependSystem: wholeMenu(all) };
  }
  const fitting = skills.filter((skill) => skill.score > 0).slice(0, topK(config));
  return fitting.length === 0 ? null : { prependSystem: shortMenu(fitting) };
});

/** What the agent was told is lost with its session. */
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

/** The menu a session was shown last. On disk, because the session may outlive this worker. */
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
