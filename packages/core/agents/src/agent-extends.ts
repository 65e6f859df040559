/** Resolves `extends`: an agent's own fields override those of the agent that it extends. */
import type { AgentProfile, Permission } from "@aegis/contract/agent.ts";
import { unsaidSandbox } from "@aegis/contract/sandbox.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";

export type ExtendedAgent = {
  profile: AgentProfile;
  /** The agents it was made from, itself first. */
  chain: AgentProfile[];
  /** The reason why the extended agent is unusable; this agent must not start then. */
  problem: string | null;
};

export type ExtendOptions = {
  /** The agent that a reference resolves to for a profile; never the profile itself. */
  find: (ref: string, by: AgentProfile) => AgentProfile | null;
  /** Candidates for the nearest name. */
  names: () => Iterable<string>;
  /** The effective permission of an agent that does not come from the user's own files. */
  narrowed: (profile: AgentProfile) => Permission | null;
};

export function extendProfile(profile: AgentProfile, options: ExtendOptions): ExtendedAgent {
  return follow(profile, options, [profile]);
}

function follow(profile: AgentProfile, options: ExtendOptions, chain: AgentProfile[]): ExtendedAgent {
  const ref = profile.extends;
  if (ref === undefined) return { profile, chain, problem: null };
  const other = options.find(ref, profile);
  if (other === null) {
    const problem = `it extends "${ref}", which does not exist${didYouMean(ref, options.names())}`;
    return { profile: { ...profile, refused: problem }, chain, problem };
  }
  if (chain.includes(other)) {
    const names = [...chain, other].map((one) => one.slug).join(" → ");
    const problem = `it extends itself: ${names}`;
    return { profile: { ...profile, refused: problem }, chain, problem };
  }
  const base = follow(other, options, [...chain, other]);
  const merged = merge(profile, base.profile, options);
  return { profile: merged, chain: base.chain, problem: base.problem };
}

function merge(own: AgentProfile, base: AgentProfile, { narrowed }: ExtendOptions): AgentProfile {
  // Options of one harness mean nothing to another.
  const sameHarness = own.harness === null || own.harness === base.harness;
  // Only the user's own file that extends a non-plugin agent inherits rights unchanged.
  const trusts = own.source === "user" && base.plugin === null && base.extends === undefined;
  return {
    ...own,
    extends: base.extends ?? nameOf(base),
    description: own.description === "" ? base.description : own.description,
    prompt: own.prompt === "" ? base.prompt : own.prompt,
    harness: own.harness ?? base.harness,
    model: own.model ?? (sameHarness ? base.model : null),
    effort: own.effort ?? base.effort,
    permission: own.permission ?? (trusts ? base.permission : narrowed(base)),
    env: sameHarness ? { ...base.env, ...own.env } : own.env,
    options: sameHarness ? { ...base.options, ...own.options } : own.options,
    temperature: own.temperature ?? base.temperature,
    max_turns: own.max_turns ?? base.max_turns,
    tools: own.tools ?? base.tools,
    deny_tools: [...new Set([...base.deny_tools, ...own.deny_tools])],
    sandbox: own.sandbox ?? base.sandbox,
    allow: own.allow ?? (base.plugin === null ? base.allow : null),
    ...(own.sandbox === null && base.plugin !== null ? { confined_within: [unsaidSandbox] } : {}),
    skills: own.skills ?? base.skills,
    on_crash: own.on_crash ?? base.on_crash,
    isolation: own.isolation ?? base.isolation,
    nodes: own.nodes ?? base.nodes,
    subagents: { ...base.subagents, ...own.subagents },
    refused: own.refused ?? base.refused,
  };
}

function nameOf({ plugin, slug }: AgentProfile): string {
  return plugin === null ? slug : `${plugin}:${slug}`;
}
