/**
 * Offers skills to agents: the list of all skills in the system prompt, and changes and required skill texts before a
 * turn's messages. A text is sent once, and again if the agent has lost it.
 */
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { SkillHow } from "@aegis/contract/skill.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";
import { preloadedSkills } from "./access.ts";
import { readBody, renderBody, type SkillBody } from "./body.ts";
import type { Classifier } from "./classify.ts";
import type { DeliveredSkills, GivenSkill, GivenSkills } from "./given.ts";
import type { SkillGrants } from "./grants.ts";
import { findMentions } from "./mentions.ts";
import { type NamedSkill, selectSkills } from "./select.ts";
import type { SkillOutline } from "./skill.ts";
import { buildSkillList, type SkillListOptions, type SkillMenu, skillCandidates, skillListNews } from "./skill-list.ts";
import type { AgentSkills, Skills } from "./skills.ts";
import { ToldSkills } from "./told.ts";

export type TurnOfSkills = { session: SessionId; turn: TurnId; messages: readonly Message[] };

export type SkillSubagent = { run_id: string; label: string; agent: string };

export type OfferOptions = {
  skills: Skills;
  given: GivenSkills;
  grants: SkillGrants;
  classifier: Classifier;
  store: Store;
  log: Logger;
  project: string;
  /** The session's agent with the session's limits; null if it no longer exists. */
  agentOf: (session: SessionRow) => Agent | null;
  /** Whether the agent may use this tool of the plane. */
  mayUse: (agent: Agent, tool: string) => boolean;
  /** Runs a skill in a subagent. Idempotent by key. Throws the reason if it may not be started. */
  startSubagent: (request: SkillSubagentRequest) => Promise<SkillSubagent>;
};

export type SectionRequest = {
  session: SessionRow;
  agent: Agent;
  /** The agent's tools of the plane. */
  tools: readonly string[];
  /** The text for which the conversation is opened; null if it is not opened now. */
  about: string | null;
};

export type SkillSubagentRequest = {
  session: SessionRow;
  agent: Agent;
  skill: SkillOutline;
  task: string;
  key: string;
  cause: Message | undefined;
};

/** Limits skill texts that were not requested by name, so that they do not displace the message. */
const mostUnasked = 40_000;
/** The total limit of texts that are sent again. */
const mostAgain = 60_000;

/** One skill text for a turn. */
type Piece = { skill: SkillOutline; body: SkillBody; how: SkillHow; text: string };

export class SkillDelivery {
  readonly #options: OfferOptions;
  readonly #told: ToldSkills;
  #uses: Map<string, number> | null = null;

  constructor(options: OfferOptions) {
    this.#options = options;
    this.#told = new ToldSkills(options.store);
  }

  /**
   * The skills section for a new conversation; empty if there are none. For an open conversation, the section that it
   * got. Never rejects.
   */
  async section(request: SectionRequest, signal: AbortSignal): Promise<string> {
    const { session, about } = request;
    const told = about !== null ? undefined : this.#told.text(session.id);
    if (told !== undefined) return told;
    try {
      const { list, listed } = await this.#list(request, signal);
      if (about !== null) this.#told.begin(session.id, list, listed);
      return list.text;
    } catch (error) {
      this.#options.log.warn("skills could not be listed", { session: session.id, error: errorText(error) });
      return "";
    }
  }

  /** The context before a turn's messages; usually null. Never rejects: a turn without skills is better than none. */
  async contribute(turn: TurnOfSkills, signal: AbortSignal): Promise<{ context: string } | null> {
    const { skills, grants, log, store } = this.#options;
    if (grants.sessions.has(turn.session)) grants.begin(turn.session);
    try {
      const hasNews = skills.offers && (this.#told.since(turn.session)?.listed.length ?? 0) > 0;
      if (!hasNews && !(await skills.any(signal))) return null;
      const row = await store.read.sessions.get(turn.session);
      const agent = row === null ? null : this.#options.agentOf(row);
      if (row === null || agent === null) return null;
      const view = await skills.of(agent, signal);
      if (isHarnessCommand(turn.messages, view)) return null;
      const news = skills.offers ? await this.#news(row, agent, view) : "";
      const parts = view.skills.length === 0 ? [] : await this.#parts(turn, row, agent, view, signal);
      const context = [...(news === "" ? [] : [news]), ...parts];
      return context.length === 0 ? null : { context: wrap(context) };
    } catch (error) {
      if (!signal.aborted)
        log.warn("a turn continues without skills", { session: turn.session, error: errorText(error) });
      return null;
    }
  }

  /** The text of a skill that an agent requests; a notice for one that runs in a subagent. */
  async load(
    request: {
      name: string;
      arguments: string | null;
      session: SessionRow;
      agent: Agent;
      key: string;
      cause: Message | undefined;
    },
    signal: AbortSignal,
  ): Promise<{ skill: SkillOutline; body: SkillBody; forked: SkillSubagent | null }> {
    const { skills, given, grants, project } = this.#options;
    const { session, agent } = request;
    const skill = await skills.get(request.name, agent, signal);
    if (!skill.modelInvocable)
      throw new AegisError("forbidden", `the skill "${skill.name}" is only for people to call`);
    const body = readBody(skill, { arguments: request.arguments, session: session.id, project });
    if (skill.context === "fork") {
      const { key, cause } = request;
      return {
        skill,
        body,
        forked: await this.#options.startSubagent({ session, agent, skill, task: body.text, key, cause }),
      };
    }
    await given.record(session.id, null, [{ name: skill.name, version: body.version, how: "loaded" }]);
    this.#used(skill);
    grants.add(session.id, skill, false);
    return { skill, body, forked: null };
  }

  async #list(
    { agent, tools, about }: SectionRequest,
    signal: AbortSignal,
  ): Promise<{ list: SkillMenu; listed: readonly SkillOutline[] }> {
    const { skills } = this.#options;
    if (!skills.offers) return { list: { text: "", described: [] }, listed: [] };
    const view = await skills.of(agent, signal);
    const options = await this.#listOptions(view, about ?? "", (tool) => tools.includes(tool));
    return { list: buildSkillList(view.listed, options), listed: view.listed };
  }

  async #news(row: SessionRow, agent: Agent, view: AgentSkills): Promise<string> {
    const known = this.#told.since(row.id);
    if (known === undefined || known.listed === view.listed) return "";
    const may = (tool: string) => this.#options.mayUse(agent, tool);
    const news = skillListNews(known.listed, view.listed, await this.#listOptions(view, "", may));
    this.#told.add(row.id, news, view.listed);
    return news.text;
  }

  /** The candidates for the messages of which the agent knows no description; empty if it knows all. */
  async #menu(row: SessionRow, agent: Agent, view: AgentSkills, candidates: readonly SkillOutline[]): Promise<string> {
    const known = this.#told.since(row.id);
    const open = candidates.filter(({ name }) => known?.described.has(name) === false);
    if (open.length === 0) return "";
    const may = (tool: string) => this.#options.mayUse(agent, tool);
    const menu = skillCandidates(open, await this.#listOptions(view, "", may));
    this.#told.add(row.id, menu);
    return menu.text;
  }

  async #parts(
    { session, turn, messages }: TurnOfSkills,
    row: SessionRow,
    agent: Agent,
    view: AgentSkills,
    signal: AbortSignal,
  ): Promise<string[]> {
    const { skills, given, grants, classifier } = this.#options;
    const had = await given.of(session);
    // Skills called by name are sent even if a plugin offers skills.
    const most = skills.offers ? skills.settings.max_per_turn : 0;
    const selected = await selectSkills(messages, view, { most, classifier, signal });
    const pieces = new Map<SkillOutline, Piece>();
    const add = (skill: SkillOutline, how: SkillHow, given: string | null, most: number) => {
      const piece = pieces.has(skill) ? null : this.#piece(skill, how, given, row, had, most);
      if (piece !== null) pieces.set(skill, piece);
    };
    const notes = selected.problems.map((problem) => `Aegis could not find what the message calls: ${problem}.`);
    for (const one of selected.named) {
      grants.add(session, one.skill, one.byPerson);
      if (one.skill.context === "fork") notes.push(await this.#fork(one, row, agent));
      else add(one.skill, "named", one.arguments, Number.POSITIVE_INFINITY);
    }
    for (const skill of preloadedSkills(agent, view.skills)) add(skill, "preloaded", null, mostUnasked);
    for (const { skill, how } of selected.about) {
      grants.add(session, skill, false);
      add(skill, how, null, mostUnasked);
    }
    this.#again(had, view, (skill) => add(skill, "again", null, mostUnasked), pieces);
    await given.record(session, turn, [...pieces.values()].map(recordOf));
    for (const skill of pieces.keys()) this.#used(skill);
    const menu = skills.offers ? await this.#menu(row, agent, view, selected.candidates) : "";
    return [...notes, ...(menu === "" ? [] : [menu]), ...[...pieces.values()].map(({ text }) => text)];
  }

  /** Null if the agent already has this text, or if it cannot be read. */
  #piece(
    skill: SkillOutline,
    how: SkillHow,
    given: string | null,
    row: SessionRow,
    had: DeliveredSkills,
    most: number,
  ): Piece | null {
    try {
      const body = readBody(skill, { arguments: given, session: row.id, project: this.#options.project });
      // Arguments change the text, so it is sent again.
      const isKnown = had.current.get(skill.name) === body.version;
      if (isKnown && (given === null || given === "")) return null;
      const cut = body.text.length - most;
      const note = `\n\n[cut: ${cut} more characters; load_skill gives all of it]`;
      const text = cut > 0 ? `${body.text.slice(0, most)}${note}` : body.text;
      return { skill, body, how, text: renderBody(skill, { ...body, text }) };
    } catch (error) {
      this.#options.log.warn("a skill could not be given", { skill: skill.name, error: errorText(error) });
      return null;
    }
  }

  #again(
    had: DeliveredSkills,
    view: AgentSkills,
    add: (skill: SkillOutline) => void,
    pieces: ReadonlyMap<SkillOutline, Piece>,
  ): void {
    for (const name of had.forgotten) {
      const length = [...pieces.values()].reduce((sum, { text }) => sum + text.length, 0);
      const skill = view.names.find(name);
      if (skill !== undefined && length < mostAgain) add(skill);
    }
  }

  async #fork({ skill, arguments: given, message }: NamedSkill, row: SessionRow, agent: Agent): Promise<string> {
    try {
      const body = readBody(skill, { arguments: given ?? "", session: row.id, project: this.#options.project });
      // The idempotency key ensures that a message sent again after a crash starts nothing twice.
      const key = `${row.id}/skill/${message.id}/${skill.name}`;
      const request = { session: row, agent, skill, task: body.text, key, cause: message };
      const { run_id, label, agent: who } = await this.#options.startSubagent(request);
      this.#used(skill);
      return `The skill "${skill.name}" runs in the subagent ${run_id} (agent: ${who}, label: ${label}). Its result will come to you by itself; do not do its work.`;
    } catch (error) {
      return `The skill "${skill.name}" could not be started in a subagent: ${errorText(error)}`;
    }
  }

  async #listOptions(
    { matcher }: AgentSkills,
    text: string,
    may: (tool: string) => boolean,
  ): Promise<SkillListOptions> {
    this.#uses ??= await this.#options.given.uses();
    const uses = this.#uses;
    const scores = new Map(text === "" ? [] : matcher.match(text).map(({ skill, score }) => [skill, score]));
    return {
      budget: this.#options.skills.settings.catalog_chars,
      rank: (skill) => (scores.get(skill) ?? 0) + Math.log2(1 + (uses.get(skill.name) ?? 0)),
      canLoad: may("load_skill"),
      canSearch: may("search_skills"),
    };
  }

  #used(skill: SkillOutline): void {
    this.#uses?.set(skill.name, (this.#uses.get(skill.name) ?? 0) + 1);
  }
}

/** A harness recognizes its own commands only at the start of the text. */
function isHarnessCommand(messages: readonly Message[], { names }: AgentSkills): boolean {
  const [only, ...more] = messages;
  if (only === undefined || more.length > 0 || !only.body.startsWith("/")) return false;
  const { found, problem } = findMentions(only.body, names);
  return found.length === 0 && problem === null;
}

function recordOf({ skill, body, how }: Piece): GivenSkill {
  return { name: skill.name, version: body.version, how };
}

/** Marked as Aegis's text, so that the agent does not attribute it to the sender. */
function wrap(parts: readonly string[]): string {
  return ["<aegis_skills>", parts.join("\n\n"), "</aegis_skills>"].join("\n");
}
