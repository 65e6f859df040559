/** Completes an agent with the project's default agent: harness with its options, model and rights. */
import type { Agent, AgentDiagnostic, AgentProfile, Permission } from "@aegis/contract/agent.ts";
import { familyOf, qualifiedModel } from "@aegis/contract/model-names.ts";
import { unsaidSandbox } from "@aegis/contract/sandbox.ts";
import { factsOf, harnesses } from "@aegis/drivers/all.ts";
import type { HarnessFacts } from "@aegis/drivers/harness.ts";

export type CompletedAgent = { agent: Omit<Agent, "ref" | "overrides">; diagnostics: AgentDiagnostic[] };

/** The permission if neither the agent nor the default agent sets one. */
const unsaidPermission: Permission = "auto";

/** `base` is an agent with a harness of its own, or null if there is none. */
export function completeProfile(profile: AgentProfile, base: AgentProfile | null): CompletedAgent {
  const { slug, plugin, file } = profile;
  const diagnostics: AgentDiagnostic[] = [];
  const warn = (message: string) =>
    diagnostics.push({ level: "warning", agent: slug, plugin, file, line: null, message });
  // The harness is inherited together with the options that start it: an ACP agent needs its command.
  const sameHarness = base !== null && (profile.harness === null || profile.harness === base.harness);
  const harness = profile.harness ?? base?.harness ?? "";
  const inherited = profile.harness === null && base !== null;
  let model = profile.model ?? (sameHarness && profile.source !== "config" ? base.model : null);
  const facts = factsOf(harness);
  const owner = ownerOf(profile.model);
  if (owner !== undefined && owner.harness !== harness) {
    model = sameHarness ? base.model : null;
    warn(
      `model: only ${owner.program?.name ?? owner.harness} knows "${profile.model}"; on ${harness} it uses ${model ?? "the harness's choice"}`,
    );
  }
  if (model !== null && model === profile.model) {
    const judged = judgeModel(model, harness);
    // The author did not choose the harness, and a model that it does not support would make every turn fail.
    model = judged.usable || profile.harness !== null ? judged.model : sameHarness ? base.model : null;
    if (judged.problem !== null)
      warn(`model: ${judged.problem}${model === profile.model ? "" : `; it uses ${model ?? "the harness's choice"}`}`);
  }
  if (profile.temperature !== null && facts?.callsModel !== true)
    warn(`temperature: cannot be set on ${harness}, which keeps its own`);
  if (profile.max_turns !== null && facts?.limitsCalls !== true)
    warn(`maxTurns: cannot be set on ${harness}, which keeps its own`);
  if (profile.mcp !== "none" && facts?.usesServers === false)
    warn(`mcp: has no effect on ${harness}, which uses no MCP servers`);
  if (profile.mcp !== "none" && facts?.projectServersOnly === true)
    warn(`mcp: ${harness} is given the servers of .mcp.json only; those it is configured with cannot be kept`);
  const agent = {
    ...profile,
    harness,
    model,
    effort: profile.effort ?? (inherited ? base.effort : null),
    permission: permissionFor(profile, base),
    ...confinementFor(profile),
    env: inherited ? { ...base.env, ...profile.env } : profile.env,
    options: inherited ? { ...base.options, ...profile.options } : profile.options,
    // An agent that inherits untrusted settings is untrusted as well.
    refused: profile.refused ?? (inherited || profile.permission === null ? (base?.refused ?? null) : null),
  };
  return { agent, diagnostics };
}

/** The only harness that knows this name of a model. */
function ownerOf(model: string | null): HarnessFacts | undefined {
  return model === null ? undefined : harnesses.find(({ models }) => models.aliases.includes(model));
}

type JudgedModel = { model: string; usable: boolean; problem: string | null };

/** The model's name in the harness, and a problem if the harness does not support it. */
function judgeModel(model: string, harness: string): JudgedModel {
  const facts = factsOf(harness);
  if (facts?.callsModel === true) {
    const qualified = qualifiedModel(model);
    if (qualified.includes("/")) return { model: qualified, usable: true, problem: null };
    const problem = `"${model}" names no provider; native agents need provider/model, as in anthropic/claude-sonnet-4-5`;
    return { model, usable: false, problem };
  }
  const family = familyOf(model);
  const own = facts?.models.vendor ?? null;
  if (family === null || own === null || family === own) return { model, usable: true, problem: null };
  return { model, usable: false, problem: `${harness} has no models of ${family}, and "${model}" is one` };
}

/** A plugin can only narrow the rights of the default agent; the user's own files can widen them. */
function permissionFor(profile: AgentProfile, base: AgentProfile | null): Permission {
  if (profile.permission !== null && profile.plugin === null) return profile.permission;
  return narrowedPermission(profile.permission, base);
}

/** A plugin's agent reaches no more than the project's programs do. */
function confinementFor({ plugin }: AgentProfile): Partial<Pick<Agent, "allow" | "confined_within">> {
  return plugin === null ? {} : { allow: null, confined_within: [unsaidSandbox] };
}

/** The requested rights, or the default agent's rights if those are lower. */
export function narrowedPermission(own: Permission | null, base: AgentProfile | null): Permission {
  const basic = base?.permission ?? unsaidPermission;
  if (own === null) return basic;
  if (own === "read" || basic === "read") return "read";
  return basic === "full" ? own : basic;
}
