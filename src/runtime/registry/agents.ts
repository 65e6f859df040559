/**
 * The agents that can be started. Every candidate is kept, whoever brought it; one resolver picks the one that a name
 * means, so that listing and loading cannot disagree and what a removed agent hid comes back.
 */
import {
  type Agent,
  type AgentDiagnostic,
  type AgentProfile,
  type AgentSummary,
  agentFilePath,
  slugMaxLength,
  slugPattern,
} from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { compareCandidates, identityOf, tieOf } from "./agent-order.ts";
import { completeProfile } from "./agent-profile.ts";

/** The harness of the scripted agent, which never talks to a model. */
export const offlineHarness = "scripted";

export type AgentChoice = {
  slug: string;
  /** Why this agent is the default, in words. */
  why: string;
};

/** Why an agent must not be started, or null when it may. */
export type AgentRefusal = (agent: Agent) => string | null;

/** More names would bury the hint. */
const namesInHint = 20;

export class AgentRegistry {
  #profiles: readonly AgentProfile[] = [];
  readonly #pluginProfiles = new Set<AgentProfile>();
  readonly #faults = new Set<readonly AgentDiagnostic[]>();
  #choice: AgentChoice;
  #refusal: AgentRefusal = ownRefusal;
  readonly #more: AgentRefusal[] = [];
  /** Name → candidates, the strongest first. Made anew after each change. */
  #byName: Map<string, AgentProfile[]> | null = null;
  readonly #resolved = new Map<string, Agent>();

  constructor(profiles: readonly AgentProfile[], choice: AgentChoice, refusal?: AgentRefusal) {
    this.#choice = choice;
    this.replace(profiles, choice, refusal);
  }

  /** Replaces all but the agents of plugins, which come and go with their plugin. */
  replace(profiles: readonly AgentProfile[], choice: AgentChoice, refusal: AgentRefusal = ownRefusal): void {
    for (const profile of profiles) checkName(profile);
    this.#profiles = profiles;
    this.#choice = choice;
    this.#refusal = refusal;
    this.#changed();
  }

  /** One more reason not to start an agent, whatever the settings say. */
  refuseAlso(refusal: AgentRefusal): void {
    this.#more.push(refusal);
  }

  /** Returns its undo. Throws `invalid` for an agent without a plugin, `conflict` when that plugin has one of the name. */
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

  /** All or none. Returns the undo for all. */
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

  /** What is wrong with agents that a plugin brings, also with those that were left out for it. Returns its undo. */
  note(faults: readonly AgentDiagnostic[]): () => void {
    const noted = [...faults];
    this.#faults.add(noted);
    return () => {
      this.#faults.delete(noted);
    };
  }

  /** False when the plugin has no such agent. Whatever the agent hid is back. */
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
   * The agent that a name or `plugin:name` means, or the default one. Throws `not_found` with the nearest name; no name
   * ever stands for another one.
   */
  get(ref: string = this.#choice.slug): Agent {
    const agent = this.loadAgent(ref);
    if (agent) return agent;
    const names = this.#names();
    const qualified = [...this.#pluginProfiles].map((profile) => `${profile.plugin}:${profile.slug}`);
    const more = names.length > namesInHint ? ` and ${names.length - namesInHint} more` : "";
    throw new AegisError("not_found", `no agent "${ref}"${didYouMean(ref, [...names, ...qualified])}`, {
      hint: `agents here: ${names.slice(0, namesInHint).join(", ")}${more}`,
    });
  }

  /** The same for whoever is about to start it. Throws `forbidden` when nobody has agreed to what it would run. */
  startable(ref?: string): Agent {
    const agent = this.get(ref);
    for (const refusal of this.#more) {
      const broken = refusal(agent);
      if (broken !== null) throw new AegisError("unavailable", `agent "${agent.slug}" is not started: ${broken}`);
    }
    const reason = this.#refusal(agent);
    if (reason === null) return agent;
    throw new AegisError("forbidden", `agent "${agent.slug}" is not started: ${reason}`, {
      hint: "see everything this folder would run, and agree to it, with: aegis trust",
    });
  }

  loadAgent(ref: string): Agent | null {
    const known = this.#resolved.get(ref);
    if (known) return known;
    const profile = this.#pick(ref);
    if (profile === null) return null;
    const overrides = ref === profile.slug ? this.candidates(ref).slice(1).map(identityOf) : [];
    const agent: Agent = { ...completeProfile(profile, this.#base()).agent, ref, overrides };
    this.#resolved.set(ref, agent);
    return agent;
  }

  /** The agent each name means, as `loadAgent` would give it. */
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

  /** Everyone who goes by a name, the one in use first. */
  candidates(slug: string): readonly AgentProfile[] {
    return this.#index().get(slug) ?? [];
  }

  /** What authors should know: faults of plugins' agents, names that several claim alike, settings without effect. */
  diagnostics(): AgentDiagnostic[] {
    const base = this.#base();
    const ofNames = [...this.#index().values()].flatMap((candidates) => {
      const tie = tieOf(candidates);
      const [winner] = candidates;
      return [...(tie === null ? [] : [tie]), ...(winner ? completeProfile(winner, base).diagnostics : [])];
    });
    return [...[...this.#faults].flat(), ...ofNames];
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

  /** Whose harness agents run on that name none: the default agent, or the first that has one of its own. */
  #base(): AgentProfile | null {
    const chosen = this.#pick(this.#choice.slug);
    if (chosen !== null && chosen.harness !== null) return chosen;
    return this.#profiles.find((profile) => profile.harness !== null) ?? null;
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

function ownRefusal(agent: Agent): string | null {
  return agent.refused;
}

/** Names become paths, pool keys and command-line words, so nothing else than a name gets in, whoever brings it. */
function checkName({ slug, plugin }: AgentProfile): void {
  if (slug.length > slugMaxLength || !slugPattern.test(slug))
    throw new AegisError("invalid", `"${slug.slice(0, 80)}" is no name for an agent`, {
      hint: `expected lower-case letters and digits joined by - or _, at most ${slugMaxLength}`,
    });
  if (plugin !== null && (plugin === "" || /[:/\\\0]/.test(plugin)))
    throw new AegisError("invalid", `"${plugin.slice(0, 80)}" is no name for a plugin`);
}
