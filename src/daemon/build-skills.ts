/** Makes the skills: where they are looked for, what they may need, and how they come before agents. */
import { homedir } from "node:os";
import type { Agent } from "../contract/agent.ts";
import type { HookSkill } from "../contract/hook.ts";
import type { Message } from "../contract/message.ts";
import { scopeOf } from "../contract/scope.ts";
import { askOnce } from "../drivers/native/one-answer.ts";
import { assetPath } from "../lib/assets.ts";
import type { Environment } from "../lib/child-env.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/log.ts";
import { skillTools } from "../plane/tools/skills.ts";
import type { Steered } from "../runtime/inbox/inbox.ts";
import type { AgentRegistry } from "../runtime/registry/agents.ts";
import { limitedAgent } from "../runtime/registry/limits.ts";
import { scopedTool, type Tool, type ToolRegistry } from "../runtime/registry/tools.ts";
import type { Turns } from "../runtime/sessions/turns.ts";
import { Classifier } from "../runtime/skills/classify.ts";
import { Gates } from "../runtime/skills/gate.ts";
import { GivenSkills } from "../runtime/skills/given.ts";
import { SkillGrants } from "../runtime/skills/grants.ts";
import { SkillLibrary } from "../runtime/skills/library.ts";
import { type Forked, type ForkRequest, type OfferOptions, SkillOffer } from "../runtime/skills/offer.ts";
import { skillRoots } from "../runtime/skills/places.ts";
import { rankedSkills } from "../runtime/skills/ranked.ts";
import { SkillRouter } from "../runtime/skills/route.ts";
import { selectSkills } from "../runtime/skills/select.ts";
import { Skills } from "../runtime/skills/skills.ts";
import type { Subagents } from "../runtime/subagents/subagents.ts";
import type { SessionRow, Store } from "../store/store.ts";
import type { Gated } from "./trust/gate.ts";

export type BuildSkillsOptions = Pick<OfferOptions, "remembers"> & {
  root: string;
  store: Store;
  clock: Clock;
  log: Logger;
  env: Environment;
  settings: () => Gated;
  agents: AgentRegistry;
  tools: ToolRegistry;
  /** Asked for once there are any. */
  turns: () => Turns;
  subagents: () => Subagents;
  /** More tools that are there as long as skills are. */
  moreTools: readonly Tool[];
};

export type SkillParts = {
  skills: Skills;
  offer: SkillOffer;
  grants: SkillGrants;
  router: SkillRouter;
  /** What the session's agent may load, the best for the text first. */
  ranked(session: SessionRow, text: string, signal: AbortSignal): Promise<HookSkill[]>;
  /** Adds a message to the turn under way, unless it calls a skill: only the beginning of a turn can bring its text. */
  steer(message: Message, signal: AbortSignal): Promise<Steered>;
  /** Gives agents the tools for skills, or takes them away, as the settings say. */
  settingsChanged(): void;
};

/** A list of names is short. */
const classifierTokens = 500;

export function buildSkills(options: BuildSkillsOptions): SkillParts {
  const { root, store, clock, log, env, settings, agents, tools, remembers, turns } = options;
  const home = env.HOME ?? homedir();
  const places = { root, home, bundled: assetPath("skills") };
  const library = new SkillLibrary({
    roots: () => skillRoots({ ...places, dirs: settings().config.skills.dirs }),
    now: () => clock.now(),
  });
  const gates = new Gates({ env: () => env, config: () => settings().config, platform: process.platform });
  const classifier = new Classifier({
    model: () => settings().config.skills.classifier ?? null,
    ask: async (question, signal) => {
      const { config, refusal } = settings();
      // Where nobody has agreed to the project's models, none of them is sent a message, nor a key.
      const why = refusal({ ...agents.get(undefined), harness: "native", model: question.model, refused: null });
      if (why !== null) throw new Error(why);
      return askOnce({ ...question, maxTokens: classifierTokens }, { env, clock, models: config.models }, signal);
    },
    log,
  });
  const skills = new Skills({
    library,
    gates,
    project: root,
    settings: () => settings().config.skills,
    agent: (name) => agents.get(name),
  });
  const grants = new SkillGrants();
  const agentOf = (session: SessionRow) => {
    const agent = agents.loadAgent(session.agent);
    return agent === null ? null : limitedAgent(agent, session.limits);
  };
  const offer = new SkillOffer({
    ...{ skills, grants, classifier, store, log, remembers, project: root },
    fork: (request) => fork(options, request),
    given: new GivenSkills(store, clock),
    agentOf,
    mayUse: (agent, name) => mayUse(agent, name, tools),
  });
  const find = (name: string | undefined) => (name === undefined ? agents.get(undefined) : agents.loadAgent(name));
  const withdraw: (() => void)[] = [];
  return {
    skills,
    offer,
    grants,
    router: new SkillRouter({ skills, classifier, find }),
    async ranked(session, text, signal) {
      const agent = agentOf(session);
      return agent === null ? [] : rankedSkills(skills, agent, text, signal);
    },
    async steer(message, signal) {
      const row = (await skills.any(signal)) ? await store.read.sessions.get(message.session) : null;
      const agent = row === null ? null : agentOf(row);
      if (agent === null) return turns().steer(message);
      const view = await skills.of(agent, signal);
      const [called] = (await selectSkills([message], view, { most: 0, classifier, signal })).named;
      if (called === undefined) return turns().steer(message);
      const isBusy = turns().current(message.session).length > 0;
      return { joined: false, why: isBusy ? `the skill "${called.skill.name}" comes with a turn of its own` : null };
    },
    settingsChanged() {
      const { enabled } = settings().config.skills;
      if (!enabled) for (const undo of withdraw.splice(0)) undo();
      else if (withdraw.length === 0)
        for (const tool of [...skillTools({ skills, offer, turns: turns() }), ...options.moreTools])
          withdraw.push(tools.add(tool));
    },
  };
}

/** Names that Claude Code gives to agents of its own: the one that calls stands in for them. */
const claudeAgents: readonly string[] = ["explore", "plan", "general-purpose"];

/** The subagent that a skill asks for. */
async function fork({ agents, subagents }: BuildSkillsOptions, request: ForkRequest): Promise<Forked> {
  const { session, agent, skill, task, key, cause } = request;
  const name = skill.forkAgent?.toLowerCase();
  const unknown = name === undefined || (agents.loadAgent(name) === null && claudeAgents.includes(name));
  const row = await subagents().spawn({
    callerAgent: agent,
    caller: session.id,
    key,
    ...(unknown ? {} : { agent: name }),
    task,
    label: skill.name,
    cause,
  });
  return { run_id: row.run_id, label: row.label, agent: row.agent };
}

function mayUse(agent: Agent, name: string, tools: ToolRegistry): boolean {
  const tool = tools.all().find((candidate) => candidate.name === name);
  return tool !== undefined && scopeOf(agent)(scopedTool(tool)).allowed;
}
