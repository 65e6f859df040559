/**
 * The agents that can be started. The registry keeps all candidates of a name, and one resolver selects the effective
 * one, so that listing and loading always agree and removing an agent restores the one that it hid.
 */
import {
  type Agent,
  type AgentDiagnostic,
  type AgentProfile,
  type AgentSummary,
  agentFilePath,
  type OnCrash,
} from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { type ExtendedAgent, extendProfile } from "./agent-extends.ts";
import { compareCandidates, identityOf, tieOf } from "./agent-order.ts";
import { checkName, rejectedConfig } from "./agent-problems.ts";
import { type CompletedAgent, completeProfile, narrowedPermission } from "./agent-profile.ts";
import { isNamed } from "./limits.ts";

/** The harness of the scripted agent, which never calls a model. */
export const offlineHarness = "scripted";

export type AgentChoice = {
  slug: string;
  /** The reason why this agent is the default. */
  why: string;
};

/** Returns the reason why an agent must not start, or null. */
export type AgentRefusal = (agent: Agent) => string | null;

/** A longer list would hide the hint. */
const namesInHint = 20;

export class AgentTable {
  #profiles: readonly AgentProfile[] = [];
  readonly #pluginProfiles = new Set<AgentProfile>();
  readonly #faults = new Set<readonly AgentDiagnostic[]>();
  #choice: AgentChoice;
  #refusal: AgentRefusal = ownRefusal;
  readonly #more: AgentRefusal[] = [];
  readonly #changing: { refusal: AgentRefusal; whileAny: { readonly size: number } }[] = [];
  /** The agents that only a changing reason can keep from starting. */
  readonly #allowed = new WeakSet<Agent>();
  #unread: () => readonly string[] = () => [];
  /** Name → candidates by precedence. Rebuilt after each change. */
  #byName: Map<string, AgentProfile[]> | null = null;
  readonly #resolved = new Map<string, Agent>();

  constructor(profiles: readonly AgentProfile[], choice: AgentChoice, refusal?: AgentRefusal) {
    this.#choice = choice;
    this.replace(profiles, choice, refusal);
  }

  /** Replaces all agents except those of plugins, which are managed by their plugin. */
  replace(profiles: readonly AgentProfile[], choice: AgentChoice, refusal: AgentRefusal = ownRefusal): void {
    for (const profile of profiles) checkName(profile);
    this.#profiles = profiles;
    this.#choice = choice;
    this.#refusal = refusal;
    this.#changed();
  }

  /** Returns the problems that keep the current files from taking effect: an unknown agent may be declared there. */
  explainWith(unread: () => readonly string[]): void {
    this.#unread = unread;
  }

  /** Adds another reason not to start an agent. It must depend on nothing that changes, except the agent. */
  refuseAlso(refusal: AgentRefusal): void {
    this.#more.push(refusal);
  }

  /** Adds a reason that may change. It is not asked for while the given collection is empty. */
  refuseWhile(whileAny: { readonly size: number }, refusal: AgentRefusal): void {
    this.#changing.push({ whileAny, refusal });
  }

  /**
   * Returns a function that removes the agent. Throws `invalid` for an agent without a plugin, and `conflict` if that
   * plugin already has the name.
   */
  registerPluginAgent(profile: AgentProfile): () => void {
    checkName(profile);
    const { plugin, slug } = profile;
    if (plugin === null) throw new AegisError("invalid", `the agent "${slug}" cannot be registered without its plugin`);
    if (this.#ofPlugin(plugin, slug) !== undefined)
      throw new AegisError("conflict", `the plugin "${plugin}" has an agent "${slug}" already`);
    this.#pluginProfiles.add(profile);
    this.#changed();
    return () => {
      if (this.#pluginProfiles.delete(profile)) this.#changed();
    };
  }

  /** Registers all or none. Returns a function that removes all. */
  registerPluginAgents(profiles: readonly AgentProfile[]): () => void {
    const undo: (() => void)[] = [];
    const undoAll = () => {
      for (const one of undo.splice(0).reverse()) one();
    };
    try {
      for (const profile of profiles) undo.push(this.registerPluginAgent(profile));
    } catch (error) {
      undoAll();
      throw error;
    }
    return undoAll;
  }

  /** Adds diagnostics about a plugin's agents, including skipped ones. Returns a function that removes them. */
  note(faults: readonly AgentDiagnostic[]): () => void {
    const noted = [...faults];
    this.#faults.add(noted);
    return () => {
      this.#faults.delete(noted);
    };
  }

  /** Returns false if the plugin has no such agent. Restores the agent that it hid. */
  unregisterPluginAgent(plugin: string, slug: string): boolean {
    const profile = this.#ofPlugin(plugin, slug);
    if (profile === undefined) return false;
    this.#pluginProfiles.delete(profile);
    this.#changed();
    return true;
  }

  get choice(): AgentChoice {
    return this.#choice;
  }

  /**
   * The agent of a name or `plugin:name`, or the default agent. Throws `not_found` with the nearest name; never falls
   * back to another agent.
   */
  get(ref: string = this.#choice.slug): Agent {
    const agent = this.loadAgent(ref);
    if (agent) return agent;
    const names = this.#names();
    const qualified = [...this.#pluginProfiles].map((profile) => `${profile.plugin}:${profile.slug}`);
    const unread = this.#unread();
    if (unread.length > 0) throw rejectedConfig(ref, unread);
    const more = names.length > namesInHint ? ` and ${names.length - namesInHint} more` : "";
    throw new AegisError("not_found", `no agent "${ref}"${didYouMean(ref, [...names, ...qualified])}`, {
      hint: `agents here: ${names.slice(0, namesInHint).join(", ")}${more}`,
    });
  }

  /** Like `get`, for a caller that is about to start the agent. Throws `forbidden` if the agent is untrusted. */
  startable(ref?: string): Agent {
    const agent = this.get(ref);
    const isAllowed = this.#allowed.has(agent);
    const profile = isAllowed ? null : this.#pick(agent.ref);
    const problem = profile === null ? null : this.#extended(profile).problem;
    if (problem !== null) throw new AegisError("conflict", `agent "${agent.slug}" is not started: ${problem}`);
    for (const refusal of isAllowed ? [] : this.#more) notBroken(agent, refusal);
    for (const { whileAny, refusal } of this.#changing) if (whileAny.size > 0) notBroken(agent, refusal);
    const reason = isAllowed ? null : this.#refusal(agent);
    if (reason === null) {
      this.#allowed.add(agent);
      return agent;
    }
    throw new AegisError("forbidden", `agent "${agent.slug}" is not started: ${reason}`, {
      hint: "see everything this folder would run, and agree to it, with: aegis trust",
    });
  }

  loadAgent(ref: string): Agent | null {
    const known = this.#resolved.get(ref);
    if (known) return known;
    const profile = this.#pick(ref);
    if (profile === null) return null;
    const hidden = ref === profile.slug ? this.candidates(ref).slice(1) : [];
    const overrides = [...new Set([...hidden, ...this.#extended(profile).chain.slice(1)])].map(identityOf);
    const agent: Agent = { ...this.#complete(profile).agent, ref, overrides };
    this.#resolved.set(ref, agent);
    return agent;
  }

  /** The profiles that the agent was made from: its own, and the default agent's if it inherits from it. */
  madeFrom({ source, plugin, slug }: Pick<Agent, "source" | "plugin" | "slug">): AgentProfile[] {
    const own = this.candidates(slug).find((profile) => profile.source === source && profile.plugin === plugin);
    if (own === undefined) return [];
    const { profile, chain } = this.#extended(own);
    const base = profile.harness === null || profile.permission === null ? this.#base() : null;
    return base === null || chain.includes(base) ? chain : [...chain, base];
  }

  /** The effective agent of each name, as `loadAgent` returns it. */
  listAgents(): AgentSummary[] {
    return this.#names().map((slug) => this.summary(this.get(slug)));
  }

  summary(agent: Agent): AgentSummary {
    return {
      slug: agent.slug,
      description: agent.description,
      harness: agent.harness,
      model: agent.model,
      effort: agent.effort,
      permission: agent.permission,
      source: agent.source,
      plugin: agent.plugin,
      file_path: agentFilePath(agent),
      default: agent.ref === this.#choice.slug,
      offline: agent.harness === offlineHarness,
    };
  }

  /** All candidates of a name, the effective one first. */
  candidates(slug: string): readonly AgentProfile[] {
    return this.#index().get(slug) ?? [];
  }

  /** Diagnostics for authors: faults of plugin agents, ambiguous names, settings without effect. */
  diagnostics(): AgentDiagnostic[] {
    const ofNames = [...this.#index().values()].flatMap((candidates) => {
      const tie = tieOf(candidates);
      const [winner] = candidates;
      const ofWinner = winner
        ? [...this.#strayBase(winner), ...this.#complete(winner).diagnostics, ...this.#strayNames(winner)]
        : [];
      return [...(tie === null ? [] : [tie]), ...ofWinner];
    });
    return [...[...this.#faults].flat(), ...ofNames];
  }

  #strayBase(owner: AgentProfile): AgentDiagnostic[] {
    const { slug: agent, plugin, file } = owner;
    const { problem } = this.#extended(owner);
    if (problem === null) return [];
    return [{ level: "error", agent, plugin, file, line: null, message: `extends: ${problem}` }];
  }

  /** Reports names in an agent's lists that match no agent and therefore allow nothing. */
  #strayNames(owner: AgentProfile): AgentDiagnostic[] {
    const { slug: agent, plugin, file } = owner;
    const everyone = [...this.#profiles, ...this.#pluginProfiles];
    const lists = { "subagents.allow_agents": owner.subagents.allow_agents ?? [], may_end: owner.may_end };
    return Object.entries(lists).flatMap(([key, names]) =>
      names
        .filter((name) => name !== "*" && !everyone.some((one) => isNamed(owner, one, [name])))
        .map((name): AgentDiagnostic => {
          const known = everyone.map((one) => (one.plugin === null ? one.slug : `${one.plugin}:${one.slug}`));
          const message = `${key}: "${name}" means no agent${didYouMean(name, known)}`;
          return { level: "warning", agent, plugin, file, line: null, message };
        }),
    );
  }

  #names(): string[] {
    return [...this.#index().keys()];
  }

  #pick(ref: string): AgentProfile | null {
    const colon = ref.indexOf(":");
    if (colon === -1) return this.candidates(ref)[0] ?? null;
    return this.#ofPlugin(ref.slice(0, colon), ref.slice(colon + 1)) ?? null;
  }

  #ofPlugin(plugin: string, slug: string): AgentProfile | undefined {
    return this.#index()
      .get(slug)
      ?.find((profile) => profile.plugin === plugin);
  }

  /** The agent that provides the harness for agents without one: the default agent, or the first that has a harness. */
  #base(): AgentProfile | null {
    const picked = this.#pick(this.#choice.slug);
    const chosen = picked === null ? null : this.#extendedBy(picked, null).profile;
    if (chosen !== null && chosen.harness !== null) return chosen.extends === undefined ? picked : chosen;
    return this.#profiles.find((profile) => profile.harness !== null) ?? null;
  }

  #complete(profile: AgentProfile): CompletedAgent {
    return completeProfile(this.#extended(profile).profile, this.#base());
  }

  #extended(profile: AgentProfile): ExtendedAgent {
    return this.#extendedBy(profile, profile.extends === undefined ? null : this.#base());
  }

  #extendedBy(profile: AgentProfile, base: AgentProfile | null): ExtendedAgent {
    return extendProfile(profile, {
      find: (ref, by) => this.#other(ref, by),
      names: () => [...this.#names(), ...[...this.#pluginProfiles].map((one) => `${one.plugin}:${one.slug}`)],
      narrowed: (one) => (one.permission === null ? null : narrowedPermission(one.permission, base)),
    });
  }

  /** An agent that extends its own name means the next candidate of that name. */
  #other(ref: string, by: AgentProfile): AgentProfile | null {
    if (ref !== by.slug) return this.#pick(ref);
    const all = this.candidates(ref);
    return all[all.indexOf(by) + 1] ?? null;
  }

  #index(): Map<string, AgentProfile[]> {
    if (this.#byName !== null) return this.#byName;
    const byName = new Map<string, AgentProfile[]>();
    for (const profile of [...this.#profiles, ...this.#pluginProfiles]) {
      const same = byName.get(profile.slug);
      if (same === undefined) byName.set(profile.slug, [profile]);
      else same.push(profile);
    }
    for (const candidates of byName.values()) candidates.sort(compareCandidates);
    this.#byName = byName;
    return byName;
  }

  #changed(): void {
    this.#byName = null;
    this.#resolved.clear();
  }
}

function notBroken(agent: Agent, refusal: AgentRefusal): void {
  const broken = refusal(agent);
  if (broken !== null) throw new AegisError("unavailable", `agent "${agent.slug}" is not started: ${broken}`);
}

function ownRefusal(agent: Agent): string | null {
  return agent.refused;
}

/** What happens to work that a crash interrupted: `retry` without the setting, and for an agent that is gone. */
export function onCrashOf(agents: Pick<AgentTable, "loadAgent">, { agent }: { agent: string }): OnCrash {
  return agents.loadAgent(agent)?.on_crash ?? "retry";
}
