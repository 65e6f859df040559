/** Which agent to use when nobody said: an installed harness, a key in the environment, a local model, else offline. */
import { type Agent, unsaidAgentFields } from "../contract/agent.ts";
import type { Probe } from "../drivers/driver.ts";
import type { AgentChoice } from "../runtime/registry/agents.ts";

export type Detected = { agents: Agent[]; choice: AgentChoice };

/** What detection looks at. */
export type DetectOptions = {
  /** The path of a command, or null when it is not installed. */
  findCommand: (name: string) => Promise<string | null>;
  /** Whether the harness whose command is there really starts. */
  probe: (harness: string, path: string) => Promise<Pick<Probe, "status" | "detail">>;
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

/**
 * Every agent that is here, the first that starts as the default. Only those before it are started to see: a start of
 * the daemon waits for it.
 */
export async function detectAgents(options: DetectOptions): Promise<Detected> {
  const agents: Agent[] = [];
  const broken: string[] = [];
  let choice: AgentChoice | null = null;
  for (const { slug, harness, command, name } of harnesses) {
    const path = await options.findCommand(command);
    if (path === null) continue;
    const problem = choice === null ? await problemOf(options, harness, path) : null;
    const note = problem === null ? "" : `, does not start: ${problem}`;
    agents.push(detected(slug, harness, null, `${name}, found at ${path}${note}`));
    if (problem !== null) broken.push(`${name} does not start: ${problem}`);
    else choice ??= { slug, why: `${name} is installed (${path})` };
  }
  const model = await options.findModel();
  if (model) {
    agents.push(detected("native", "native", model.model, `Aegis's own agent on ${model.model}: ${model.why}`));
    choice ??= { slug: "native", why: `${model.why}, so ${model.model} can be called` };
  }
  if (choice !== null) return { agents: [...agents, offlineAgent], choice: withBroken(choice, broken) };
  if (broken.length > 0) {
    const why = "no harness here starts, no model key is in the environment and no Ollama answers here";
    return { agents: [...agents, offlineAgent], choice: withBroken({ slug: offlineAgent.slug, why }, broken) };
  }
  return {
    agents: [offlineAgent],
    choice: {
      slug: offlineAgent.slug,
      why: `no harness (${harnesses.map((one) => one.command).join(", ")}) is on PATH, no model key is in the environment and no Ollama answers here`,
    },
  };
}

async function problemOf(options: DetectOptions, harness: string, path: string): Promise<string | null> {
  const { status, detail } = await options.probe(harness, path);
  return status === "ready" ? null : detail;
}

/** Whoever asks why another agent was taken learns what is wrong with the one before it. */
function withBroken({ slug, why }: AgentChoice, broken: readonly string[]): AgentChoice {
  return { slug, why: [why, ...broken].join("; ") };
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
