/** The skills that can be used now, and by whom. Looked at anew whenever somebody asks, so that an edit counts at once. */
import { AegisError } from "../../contract/errors.ts";
import type { CatalogSize, SkillDetail, SkillDiagnostic, SkillHit, SkillView } from "../../contract/skill.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { allowedSkills, isOfferedByHarness, type SkillHolder } from "./access.ts";
import { readBody } from "./body.ts";
import { buildCatalog } from "./catalog.ts";
import type { Gates } from "./gate.ts";
import type { LibraryState, SkillLibrary } from "./library.ts";
import { SkillMatcher } from "./matcher.ts";
import { SkillNames } from "./mentions.ts";
import type { ParsedSkill } from "./parse.ts";
import { commandOf, type Skill, skillKey } from "./skill.ts";

export type SkillSettings = {
  enabled: boolean;
  max_per_turn: number;
  /** How many characters an agent may be told of the skills there are. */
  catalog_chars: number;
};

export type SkillsOptions = {
  library: SkillLibrary;
  gates: Gates;
  settings: () => SkillSettings;
  /** The agent of a name. Throws `not_found` with the nearest one. */
  agent: (name: string) => SkillHolder;
  /** The project's folder. */
  project: string;
};

/** What one agent has of them. Made once for each list of allowed names. */
export type AgentSkills = {
  skills: readonly Skill[];
  /** Those that a model may load by itself and hears of from nobody else. */
  listed: readonly Skill[];
  names: SkillNames;
  matcher: SkillMatcher;
};

export class Skills {
  readonly #options: SkillsOptions;
  #views = new Map<string, AgentSkills>();
  #viewsOf = "";
  #offeredBy: string | null = null;

  constructor(options: SkillsOptions) {
    this.#options = options;
  }

  /** What a plugin brings, with what is wrong with it. Returns its undo. */
  add(parsed: ParsedSkill): () => void {
    return this.#options.library.add(parsed);
  }

  /**
   * Somebody else tells agents of the skills from now on: they are still loaded, searched and called by name here, but
   * Aegis itself puts nothing into a prompt that nobody asked for. Returns its undo.
   */
  takeOver(owner: string): () => void {
    if (this.#offeredBy !== null && this.#offeredBy !== owner)
      throw new AegisError("conflict", `${owner} cannot offer the skills: ${this.#offeredBy} does already`);
    this.#offeredBy = owner;
    return () => {
      if (this.#offeredBy === owner) this.#offeredBy = null;
    };
  }

  /** Whether Aegis itself tells agents what there is, and gives them what a message is about. */
  get offers(): boolean {
    return this.#options.settings().enabled && this.#offeredBy === null;
  }

  get settings(): SkillSettings {
    return this.#options.settings();
  }

  /** Whether there is any skill at all. Most projects have none, and their turns need not know more. */
  async any(signal: AbortSignal): Promise<boolean> {
    return this.#options.settings().enabled && (await this.#options.library.refresh(signal)).skills.length > 0;
  }

  /** What the agent may use now. Never throws for what files hold. */
  async of(agent: SkillHolder, signal: AbortSignal): Promise<AgentSkills> {
    if (!this.#options.settings().enabled) return viewOf([], agent);
    const { library, gates } = this.#options;
    const state = await library.refresh(signal);
    const basis = `${state.version} ${gates.refresh()}`;
    if (basis !== this.#viewsOf) {
      this.#viewsOf = basis;
      this.#views = new Map();
    }
    const key = JSON.stringify([agent.skills, agent.harness, agent.tools, agent.deny_tools]);
    const known = this.#views.get(key);
    if (known !== undefined) return known;
    const usable = state.skills.filter((skill) => gates.check(skill).eligible);
    const view = viewOf(allowedSkills(usable, agent.skills), agent);
    this.#views.set(key, view);
    return view;
  }

  /** By name or `plugin:name`, of those the agent may have. Throws `not_found` with the nearest one or the reason. */
  async get(name: string, agent: SkillHolder, signal: AbortSignal): Promise<Skill> {
    const { names } = await this.of(agent, signal);
    const skill = names.find(name);
    if (skill !== undefined) return skill;
    throw this.#unknown(name, names);
  }

  async search(query: string, agent: SkillHolder, limit: number, signal: AbortSignal): Promise<SkillHit[]> {
    const { matcher } = await this.of(agent, signal);
    const matches = matcher.match(query).filter(({ skill }) => skill.modelInvocable);
    return matches.slice(0, limit).map(({ skill, score }) => ({
      name: skill.name,
      description: skill.description,
      score: Number(score.toFixed(3)),
    }));
  }

  /** For clients: what there is, why some of it cannot be used, and what is wrong with the files. */
  async list(
    query: { agent?: string | undefined; all: boolean },
    signal: AbortSignal,
  ): Promise<{ skills: SkillView[]; diagnostics: SkillDiagnostic[]; catalog: CatalogSize }> {
    const agent = query.agent === undefined ? { skills: null } : this.#options.agent(query.agent);
    const { skills: usable, listed } = await this.of(agent, signal);
    const { state } = this.#options.library;
    const shown = query.all ? allowedSkills(state.skills, agent.skills) : usable;
    const budget = this.#options.settings().catalog_chars;
    const { size } = buildCatalog(listed, { budget, rank: () => 0, canLoad: true, canSearch: true });
    return {
      skills: shown.map((skill) => this.#view(skill)),
      diagnostics: [...state.diagnostics, ...unknownNames(agent.skills, state, query.agent)],
      catalog: size,
    };
  }

  async show(name: string, signal: AbortSignal): Promise<SkillDetail> {
    await this.of({ skills: null }, signal);
    const { state } = this.#options.library;
    const names = new SkillNames(state.skills);
    const skill = names.find(name);
    if (skill === undefined) throw this.#unknown(name, names);
    const body = readBody(skill, { arguments: null, session: "", project: this.#options.project });
    return {
      ...this.#view(skill),
      body: body.text,
      folder: skill.folder,
      resources: body.resources,
      resources_left_out: body.leftOut,
      homepage: skill.homepage,
      license: skill.license,
      hides: (state.hidden.get(skill) ?? []).map(({ source, file }) => ({ source, file })),
      diagnostics: state.diagnostics.filter((one) => one.file === skill.file && skill.file !== null),
    };
  }

  #view(skill: Skill): SkillView {
    const { eligible, missing, notes } = this.#options.gates.check(skill);
    return {
      name: skill.name,
      description: skill.description,
      source: skill.source,
      plugin: skill.plugin,
      file: skill.file,
      command: commandOf(skill.name),
      argument_hint: skill.argumentHint,
      eligible,
      missing,
      notes,
      model_invocable: skill.modelInvocable,
      user_invocable: skill.userInvocable,
      agent: skill.agent,
      context: skill.context,
      allowed_tools: [...skill.allowedTools],
    };
  }

  #unknown(name: string, names: SkillNames): AegisError {
    const { state } = this.#options.library;
    const there = state.byKey.get(skillKey(name));
    const reason = there === undefined ? "" : this.#options.gates.check(there).missing.join("; ");
    if (there === undefined)
      return new AegisError("not_found", `no skill "${name}"${didYouMean(name, names.all)}`, {
        hint: "search_skills finds one by words; aegis skill list shows all",
      });
    return new AegisError(
      "not_found",
      `the skill "${there.name}" cannot be used here: ${reason === "" ? "it is kept from this agent" : reason}`,
    );
  }
}

function viewOf(skills: readonly Skill[], holder: SkillHolder): AgentSkills {
  const listed = skills.filter((skill) => skill.modelInvocable && !isOfferedByHarness(holder, skill));
  return { skills, listed, names: new SkillNames(skills), matcher: new SkillMatcher(skills) };
}

/** Names in an agent's list that no skill has. */
function unknownNames(
  list: readonly string[] | null,
  state: LibraryState,
  agent: string | undefined,
): SkillDiagnostic[] {
  const missing = (list ?? []).filter(
    (name) => !name.includes("*") && allowedSkills(state.skills, [name]).length === 0,
  );
  return missing.map((name) => ({
    level: "warning",
    code: "field",
    skill: null,
    file: null,
    line: null,
    message: `the agent ${agent ?? ""} names a skill "${name}" that is not there${didYouMean(name, state.byKey.keys())}`,
  }));
}
