/** Which agent to use when nobody said: an installed harness, a key in the environment, a local model, else offline. */
import { type Agent, unsaidAgentFields } from "../contract/agent.ts";
import type { AgentChoice } from "../runtime/registry/agents.ts";

export type Detected = { agents: Agent[]; choice: AgentChoice };

/** What detection looks at. */
export type DetectOptions = {
  /** The path of a command, or null when it is not installed. */
  findCommand: (name: string) => Promise<string | null>;
  /** A model that can be called directly, and why it is there. */
  findModel: () => Promise<{ model: string; why: string } | null>;
};

/** Harnesses by preference: the command that shows that it is installed. */
const harnesses = [
  { slug: "claude", harness: "claude-code", command: "claude", name: "Claude Code" },
  { slug: "codex", harness: "codex", command: "codex", name: "Codex" },
  { slug: "gemini", harness: "gemini", command: "gemini", name: "Gemini CLI" },
  { slug: "opencode", harness: "opencode", command: "opencode", name: "OpenCode" },
] as const;

export const offlineAgent: Agent = {
  ...unsaidAgentFields,
  slug: "offline",
  ref: "offline",
  description: "Follows a playbook without any model. Works everywhere, thinks nowhere.",
  harness: "scripted",
  permission: "write",
  source: "builtin",
};

/** Every agent that can run here, the best of them as the default. */
export async function detectAgents(options: DetectOptions): Promise<Detected> {
  const agents: Agent[] = [];
  const reasons: string[] = [];
  for (const candidate of harnesses) {
    const path = await options.findCommand(candidate.command);
    if (path === null) continue;
    agents.push(detected(candidate.slug, candidate.harness, null, `${candidate.name}, found at ${path}`));
    reasons.push(`${candidate.name} is installed (${path})`);
  }
  const model = await options.findModel();
  if (model) {
    agents.push(detected("native", "native", model.model, `Aegis's own agent on ${model.model}: ${model.why}`));
    reasons.push(`${model.why}, so ${model.model} can be called`);
  }
  const best = agents[0];
  if (best)
    return { agents: [...agents, offlineAgent], choice: { slug: best.slug, why: reasons[0] ?? best.description } };
  return {
    agents: [offlineAgent],
    choice: {
      slug: offlineAgent.slug,
      why: `no harness (${harnesses.map((one) => one.command).join(", ")}) is on PATH, no model key is in the environment and no Ollama answers here`,
    },
  };
}

function detected(slug: string, harness: string, model: string | null, description: string): Agent {
  return {
    ...unsaidAgentFields,
    slug,
    ref: slug,
    description,
    harness,
    model,
    // The first use of an agent nobody configured asks before it changes anything.
    permission: "auto",
    source: "detected",
  };
}
