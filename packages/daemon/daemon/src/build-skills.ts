/** Builds the skills: their folders, their requirements and how agents learn about them. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import { limitedAgent } from "@aegis/agents/limits.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import type { HookSkill } from "@aegis/contract/hook.ts";
import { mayUsePlane, scopeOf } from "@aegis/contract/tool-access.ts";
import type { Subagents } from "@aegis/delegation/subagents/subagents.ts";
import { assetPath } from "@aegis/lib/assets.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { homeOf } from "@aegis/lib/home.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { skillTools } from "@aegis/mcp-plane/tools/skills.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import type { TrustedSettings } from "@aegis/project/trust/trusted-settings.ts";
import type { SessionExtensions } from "@aegis/sessions/extensions.ts";
import { type AgentTool, scopedTool, type ToolTable } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import { Classifier } from "@aegis/skills/classify.ts";
import { SkillDelivery, type SkillSubagent, type SkillSubagentRequest } from "@aegis/skills/delivery.ts";
import { GivenSkills } from "@aegis/skills/given.ts";
import { SkillGrants } from "@aegis/skills/grants.ts";
import { SkillLibrary } from "@aegis/skills/library.ts";
import { skillRoots } from "@aegis/skills/places.ts";
import { SkillRequirements } from "@aegis/skills/requirements.ts";
import { SkillRouter } from "@aegis/skills/route.ts";
import { selectSkills } from "@aegis/skills/select.ts";
import { rankedSkills, Skills } from "@aegis/skills/skills.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";

export type SkillCoreOptions = {
  root: string;
  clock: Clock;
  log: Logger;
  env: Environment;
  settings: () => TrustedSettings;
  judge: ConsentCheck;
  agents: AgentTable;
};

/** The parts of skills that do not depend on sessions. */
export type SkillCore = { skills: Skills; grants: SkillGrants; router: SkillRouter; classifier: Classifier };

export type SkillParts = SkillCore & {
  offer: SkillDelivery;
  /** The skills that the session's agent may load, the best match for the text first. */
  ranked(session: SessionRow, text: string, signal: AbortSignal): Promise<HookSkill[]>;
  /** Adds or removes the skill tools according to the settings. */
  settingsChanged(): void;
};

/** The classifier answers with a short list of names. */
const classifierTokens = 500;

export function buildSkillCore(options: SkillCoreOptions): SkillCore {
  const { root, clock, log, env, settings, judge, agents } = options;
  const home = homeOf(env);
  const library = new SkillLibrary({
    roots: (dirs) => skillRoots({ root, home, bundled: assetPath("skills"), dirs }),
    now: Date.now,
  });
  const gates = new SkillRequirements({ env: () => env, config: () => settings().config, platform: process.platform });
  const classifier = new Classifier({
    model: () => settings().config.skills.classifier ?? null,
    ask: async (question, signal) => {
      const { config } = settings();
      // A model that the project names gets no message or key until the user trusts it.
      await judge.model(question.model);
      const { askOnce } = await import("@aegis/drivers/native/one-answer.ts");
      return askOnce({ ...question, maxTokens: classifierTokens }, { env, clock, models: config.models }, signal);
    },
    log,
  });
  const skills = new Skills({
    library,
    gates,
    project: root,
    settings,
    agent: (name) => agents.get(name),
  });
  const find = (name: string | undefined) => (name === undefined ? agents.get(undefined) : agents.loadAgent(name));
  return { skills, grants: new SkillGrants(), classifier, router: new SkillRouter({ skills, classifier, find }) };
}

export type BuildSkillsOptions = SkillCoreOptions & {
  core: SkillCore;
  store: Store;
  tools: ToolTable;
  turns: Turns;
  subagents: Subagents;
  extensions: SessionExtensions;
  /** Aborts when the daemon is forced to stop. */
  signal: AbortSignal;
  /** Additional tools that exist while skills are enabled. */
  moreTools: readonly AgentTool[];
};

/** Offers skills to the agents of sessions. */
export function buildSkills(options: BuildSkillsOptions): SkillParts {
  const { root, store, clock, log, settings, agents, tools, turns, extensions, signal } = options;
  const { skills, grants, classifier } = options.core;
  const agentOf = (session: SessionRow) => {
    const agent = agents.loadAgent(session.agent);
    return agent === null ? null : limitedAgent(agent, session.limits);
  };
  const offer = new SkillDelivery({
    skills,
    grants,
    classifier,
    store,
    log,
    project: root,
    startSubagent: (request) => startSubagent(options, request),
    given: new GivenSkills(store, clock),
    agentOf,
    mayUse: (agent, name) => mayUse(agent, name, tools),
  });
  extensions.contributors.push(offer);
  extensions.skillSections.push((session, { agent, names }, about) =>
    offer.section({ session, agent, tools: mayUsePlane(agent) ? names : [], about }, signal),
  );
  // The text of a skill that a message calls can be added only at the start of a turn.
  extensions.steerRefusals.push(async (message) => {
    const row = (await skills.any(signal)) ? await store.read.sessions.get(message.session) : null;
    const agent = row === null ? null : agentOf(row);
    if (agent === null) return null;
    const view = await skills.of(agent, signal);
    const [called] = (await selectSkills([message], view, { most: 0, classifier, signal })).named;
    return called === undefined ? null : `the skill "${called.skill.name}" gets its own turn`;
  });
  const withdraw: (() => void)[] = [];
  return {
    ...options.core,
    offer,
    async ranked(session, text, abort) {
      const agent = agentOf(session);
      return agent === null ? [] : rankedSkills(skills, agent, text, abort);
    },
    settingsChanged() {
      const { enabled } = settings().config.skills;
      if (!enabled) for (const undo of withdraw.splice(0)) undo();
      else if (withdraw.length === 0)
        for (const tool of [...skillTools({ skills, offer, turns }), ...options.moreTools])
          withdraw.push(tools.add(tool));
    },
  };
}

/** Names of Claude Code's built-in agents. The calling agent replaces them. */
const claudeAgents: readonly string[] = ["explore", "plan", "general-purpose"];

/** Spawns the subagent that a skill requests. */
async function startSubagent(
  { agents, subagents }: BuildSkillsOptions,
  request: SkillSubagentRequest,
): Promise<SkillSubagent> {
  const { session, agent, skill, task, key, cause } = request;
  const name = skill.forkAgent?.toLowerCase();
  const unknown = name === undefined || (agents.loadAgent(name) === null && claudeAgents.includes(name));
  const row = await subagents.spawn({
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

function mayUse(agent: Agent, name: string, tools: ToolTable): boolean {
  const tool = tools.all().find((candidate) => candidate.name === name);
  return tool !== undefined && scopeOf(agent)(scopedTool(tool)).allowed;
}
