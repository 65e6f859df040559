/**
 * The skills that can be used now, per agent. Checked for changes on each use, so that edits take effect immediately.
 */
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { HookSkill } from "@aegis/contract/hook.ts";
import type { CatalogSize, SkillDetail, SkillDiagnostic, SkillHit, SkillView } from "@aegis/contract/skill.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { allowedSkills, isOfferedByHarness, type SkillHolder } from "./access.ts";
import { readBody } from "./body.ts";
import type { LibraryState, SkillLibrary } from "./library.ts";
import { SkillMatcher } from "./matcher.ts";
import { SkillNames } from "./mentions.ts";
import type { ParsedSkill } from "./parse.ts";
import type { SkillRequirements } from "./requirements.ts";
import { commandOf, projectDefaultAgent, type SkillOutline, skillKey } from "./skill.ts";
import { buildSkillList } from "./skill-list.ts";

export type SkillSettings = {
  enabled: boolean;
  max_per_turn: number;
  /** The limit of the skill list in the system prompt, in characters. */
  catalog_chars: number;
  /** Further folders with skills. */
  dirs: readonly string[];
};

export type SkillsOptions = {
  library: SkillLibrary;
  gates: SkillRequirements;
  settings: () => { config: { skills: SkillSettings } };
  /** The agent with a name. Throws `not_found` with the nearest name. */
  agent: (name: string) => SkillHolder;
  /** The project's folder. */
  project: string;
};

/** The skills of one agent. Computed once per list of allowed names. */
export type AgentSkills = {
  skills: readonly SkillOutline[];
  /** The skills that a model may load itself and that its harness does not already offer. */
  listed: readonly SkillOutline[];
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

  /** Adds a plugin's skill with its diagnostics. Returns a function that removes it. */
  add(parsed: ParsedSkill): () => void {
    return this.#options.library.add(parsed);
  }

  /**
   * A plugin offers the skills from now on: they can still be loaded, searched and called by name here, but Aegis adds
   * nothing to a prompt without a request. Returns a function that ends this.
   */
  takeOver(owner: string): () => void {
    if (this.#offeredBy !== null && this.#offeredBy !== owner)
      throw new AegisError("conflict", `${owner} cannot offer the skills: ${this.#offeredBy} does already`);
    this.#offeredBy = owner;
    return () => {
      if (this.#offeredBy === owner) this.#offeredBy = null;
    };
  }

  /** Whether Aegis itself offers skills to agents and adds those that match a message. */
  get offers(): boolean {
    return this.settings.enabled && this.#offeredBy === null;
  }

  get settings(): SkillSettings {
    return this.#options.settings().config.skills;
  }

  /** Whether there is any skill. Most projects have none, and their turns skip the rest. */
  async any(signal: AbortSignal): Promise<boolean> {
    const { enabled, dirs } = this.settings;
    return enabled && (await this.#options.library.refresh(signal, dirs)).skills.length > 0;
  }

  /** The skills that the agent may use now. Never throws because of file content. */
  async of(agent: SkillHolder, signal: AbortSignal): Promise<AgentSkills> {
    const { enabled, dirs } = this.settings;
    if (!enabled) return viewOf([], agent);
    const { library, gates } = this.#options;
    const state = await library.refresh(signal, dirs);
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

  /** The agent of this name, or the holder of every skill. Throws `not_found` with the nearest name. */
  holder(agent: string | undefined): SkillHolder {
    return agent === undefined ? { skills: null } : this.#options.agent(agent);
  }

  /**
   * By name or `plugin:name`, among those that the agent may use. Throws `not_found` with the nearest name or the
   * reason.
   */
  async get(name: string, agent: SkillHolder, signal: AbortSignal): Promise<SkillOutline> {
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

  /** For clients: all skills, why some cannot be used, and problems of the files. */
  async list(
    query: { agent?: string | undefined; all: boolean },
    signal: AbortSignal,
  ): Promise<{ skills: SkillView[]; diagnostics: SkillDiagnostic[]; catalog: CatalogSize }> {
    const agent = this.holder(query.agent);
    const { skills: usable, listed } = await this.of(agent, signal);
    const { state } = this.#options.library;
    const shown = query.all ? allowedSkills(state.skills, agent.skills) : usable;
    const budget = this.settings.catalog_chars;
    const { size } = buildSkillList(listed, { budget, rank: () => 0, canLoad: true, canSearch: true });
    return {
      skills: shown.map((skill) => this.#view(skill)),
      diagnostics: [
        ...state.diagnostics,
        ...this.#unknownAgents(state.skills),
        ...unknownNames(agent.skills, state, query.agent),
      ],
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

  /** Reports skills that name an unknown agent; their messages stay with the addressed agent. */
  #unknownAgents(skills: readonly SkillOutline[]): SkillDiagnostic[] {
    return skills.flatMap((skill) => {
      const named = [skill.agent, skill.context === "fork" ? skill.forkAgent : null];
      return named.flatMap((name) => {
        const problem = name === null || name === projectDefaultAgent ? null : this.#agentProblem(name);
        if (problem === null) return [];
        const message = `agent: ${problem}; the skill is for everyone`;
        return [{ level: "warning" as const, code: "agent", skill: skill.name, file: skill.file, line: null, message }];
      });
    });
  }

  #agentProblem(name: string): string | null {
    try {
      this.#options.agent(name);
      return null;
    } catch (error) {
      return isAegisError(error) && error.code === "not_found" ? error.message : null;
    }
  }

  #view(skill: SkillOutline): SkillView {
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

function viewOf(skills: readonly SkillOutline[], holder: SkillHolder): AgentSkills {
  const listed = skills.filter((skill) => skill.modelInvocable && !isOfferedByHarness(holder, skill));
  return { skills, listed, names: new SkillNames(skills), matcher: new SkillMatcher(skills) };
}

/** Names in an agent's list that match no skill. */
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
    message: `the agent ${agent ?? ""} names a skill "${name}" that does not exist${didYouMean(name, state.byKey.keys())}`,
  }));
}

/** The skills that an agent may load itself, the best match for a text first. */
export async function rankedSkills(
  skills: Skills,
  agent: SkillHolder,
  text: string,
  signal: AbortSignal,
): Promise<HookSkill[]> {
  const { listed, matcher } = await skills.of(agent, signal);
  const scores = new Map(matcher.match(text).map(({ skill, score }) => [skill, score]));
  const ranked = listed.map((skill) => ({
    name: skill.name,
    description: skill.description,
    score: Number((scores.get(skill) ?? 0).toFixed(3)),
  }));
  return ranked.sort((a, b) => b.score - a.score);
}
