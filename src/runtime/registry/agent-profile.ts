/** Fills in what an agent leaves to the project's default agent: the harness with its settings, the model, the rights. */
import type { Agent, AgentDiagnostic, AgentProfile, Permission } from "../../contract/agent.ts";

export type Completed = { agent: Omit<Agent, "ref" | "overrides">; diagnostics: AgentDiagnostic[] };

const claudeHarness = "claude-code";
/** Names of models that only Claude Code knows. */
const claudeAliases: readonly string[] = ["sonnet", "opus", "haiku", "fable", "opusplan"];
/** What an agent may do when neither it nor the default agent says. */
const unsaidPermission: Permission = "auto";

/** `base` is an agent with a harness of its own, or null when there is none at all. */
export function completeProfile(profile: AgentProfile, base: AgentProfile | null): Completed {
  const { slug, plugin, file } = profile;
  const diagnostics: AgentDiagnostic[] = [];
  const warn = (message: string) =>
    diagnostics.push({ level: "warning", agent: slug, plugin, file, line: null, message });
  // With the harness go the settings it is started with: an ACP agent without its command is nothing.
  const sameHarness = base !== null && (profile.harness === null || profile.harness === base.harness);
  const harness = profile.harness ?? base?.harness ?? "";
  const inherited = profile.harness === null && base !== null;
  let model = profile.model ?? (sameHarness && profile.source !== "config" ? base.model : null);
  if (profile.model !== null && claudeAliases.includes(profile.model) && harness !== claudeHarness) {
    model = sameHarness ? base.model : null;
    warn(`model: only Claude Code knows "${profile.model}"; on ${harness} it uses ${model ?? "the harness's choice"}`);
  }
  if (profile.temperature !== null && harness !== "native")
    warn(`temperature: cannot be set on ${harness}, which keeps its own`);
  if (profile.max_turns !== null && harness !== "native" && harness !== claudeHarness)
    warn(`maxTurns: cannot be set on ${harness}, which keeps its own`);
  const agent = {
    ...profile,
    harness,
    model,
    effort: profile.effort ?? (inherited ? base.effort : null),
    permission: permissionFor(profile, base),
    env: inherited ? { ...base.env, ...profile.env } : profile.env,
    options: inherited ? { ...base.options, ...profile.options } : profile.options,
    // Whoever takes over what nobody has agreed to is no better for it.
    refused: profile.refused ?? (inherited || profile.permission === null ? (base?.refused ?? null) : null),
  };
  return { agent, diagnostics };
}

/** A plugin narrows the rights of the default agent; only the user's own files widen them. */
function permissionFor(profile: AgentProfile, base: AgentProfile | null): Permission {
  const own = profile.permission;
  const basic = base?.permission ?? unsaidPermission;
  if (own === null) return basic;
  if (profile.plugin === null) return own;
  if (own === "read" || basic === "read") return "read";
  return basic === "full" ? own : basic;
}
