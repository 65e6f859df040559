/** Completes an agent with the project's default agent: harness with its options, model and rights. */
import type { Agent, AgentDiagnostic, AgentProfile, Permission } from "@aegis/contract/agent.ts";
import { familyOf, qualifiedModel } from "@aegis/contract/model-names.ts";

export type Completed = { agent: Omit<Agent, "ref" | "overrides">; diagnostics: AgentDiagnostic[] };

const claudeHarness = "claude-code";
/** Model aliases that only Claude Code knows. */
const claudeAliases: readonly string[] = ["sonnet", "opus", "haiku", "fable", "opusplan"];
/** Harnesses inside the daemon that do not support MCP. */
const withoutServers: readonly string[] = ["native", "scripted"];
/** Harnesses whose own MCP servers, from user and project, can only be enabled or disabled together. */
const onlyProjectServers: readonly string[] = ["goose", "kimi"];
/** Harnesses that support the models of one vendor only. */
const harnessFamilies: Readonly<Record<string, string | undefined>> = { [claudeHarness]: "anthropic", codex: "openai" };
/** The permission if neither the agent nor the default agent sets one. */
const unsaidPermission: Permission = "auto";

/** `base` is an agent with a harness of its own, or null if there is none. */
export function completeProfile(profile: AgentProfile, base: AgentProfile | null): Completed {
  const { slug, plugin, file } = profile;
  const diagnostics: AgentDiagnostic[] = [];
  const warn = (message: string) =>
    diagnostics.push({ level: "warning", agent: slug, plugin, file, line: null, message });
  // The harness is inherited together with the options that start it: an ACP agent needs its command.
  const sameHarness = base !== null && (profile.harness === null || profile.harness === base.harness);
  const harness = profile.harness ?? base?.harness ?? "";
  const inherited = profile.harness === null && base !== null;
  let model = profile.model ?? (sameHarness && profile.source !== "config" ? base.model : null);
  if (profile.model !== null && claudeAliases.includes(profile.model) && harness !== claudeHarness) {
    model = sameHarness ? base.model : null;
    warn(`model: only Claude Code knows "${profile.model}"; on ${harness} it uses ${model ?? "the harness's choice"}`);
  }
  if (model !== null && model === profile.model) {
    const judged = judgeModel(model, harness);
    // The author did not choose the harness, and a model that it does not support would make every turn fail.
    model = judged.usable || profile.harness !== null ? judged.model : sameHarness ? base.model : null;
    if (judged.problem !== null)
      warn(`model: ${judged.problem}${model === profile.model ? "" : `; it uses ${model ?? "the harness's choice"}`}`);
  }
  if (profile.temperature !== null && harness !== "native")
    warn(`temperature: cannot be set on ${harness}, which keeps its own`);
  if (profile.max_turns !== null && harness !== "native" && harness !== claudeHarness)
    warn(`maxTurns: cannot be set on ${harness}, which keeps its own`);
  if (profile.mcp !== "none" && withoutServers.includes(harness))
    warn(`mcp: has no effect on ${harness}, which uses no MCP servers`);
  if (profile.mcp !== "none" && onlyProjectServers.includes(harness))
    warn(`mcp: ${harness} is given the servers of .mcp.json only; those it is configured with cannot be kept`);
  const agent = {
    ...profile,
    harness,
    model,
    effort: profile.effort ?? (inherited ? base.effort : null),
    permission: permissionFor(profile, base),
    env: inherited ? { ...base.env, ...profile.env } : profile.env,
    options: inherited ? { ...base.options, ...profile.options } : profile.options,
    // An agent that inherits untrusted settings is untrusted as well.
    refused: profile.refused ?? (inherited || profile.permission === null ? (base?.refused ?? null) : null),
  };
  return { agent, diagnostics };
}

type JudgedModel = { model: string; usable: boolean; problem: string | null };

/** The model's name in the harness, and a problem if the harness does not support it. */
function judgeModel(model: string, harness: string): JudgedModel {
  if (harness === "native") {
    const qualified = qualifiedModel(model);
    if (qualified.includes("/")) return { model: qualified, usable: true, problem: null };
    const problem = `"${model}" names no provider; native agents need provider/model, as in anthropic/claude-sonnet-4-5`;
    return { model, usable: false, problem };
  }
  const family = familyOf(model);
  const own = harnessFamilies[harness];
  if (family === null || own === undefined || family === own) return { model, usable: true, problem: null };
  return { model, usable: false, problem: `${harness} has no models of ${family}, and "${model}" is one` };
}

/** A plugin can only narrow the rights of the default agent; the user's own files can widen them. */
function permissionFor(profile: AgentProfile, base: AgentProfile | null): Permission {
  if (profile.permission !== null && profile.plugin === null) return profile.permission;
  return narrowedPermission(profile.permission, base);
}

/** The requested rights, or the default agent's rights if those are lower. */
export function narrowedPermission(own: Permission | null, base: AgentProfile | null): Permission {
  const basic = base?.permission ?? unsaidPermission;
  if (own === null) return basic;
  if (own === "read" || basic === "read") return "read";
  return basic === "full" ? own : basic;
}
