/**
 * Chooses the agent of an unconfigured project: an installed harness, an API key in the environment, a local model, or
 * the offline agent.
 */

import type { AgentChoice } from "@aegis/agents/agent-table.ts";
import { type Agent, unsaidAgentFields } from "@aegis/contract/agent.ts";
import { harnesses } from "@aegis/drivers/all.ts";
import type { Probe } from "@aegis/drivers/driver.ts";

export type DetectedAgents = {
  agents: Agent[];
  choice: AgentChoice;
  /** Agents whose harness was started and failed. */
  broken: string[];
};

/** The inputs of detection. */
export type DetectOptions = {
  /** The path of a command, or null if it is not installed. */
  findCommand: (name: string) => Promise<string | null>;
  /** Checks that an installed harness really starts. */
  probe: (harness: string, path: string) => Promise<Pick<Probe, "status" | "detail">>;
  /** A model that can be called directly, and the reason why it was chosen. */
  findModel: () => Promise<{ model: string; why: string } | null>;
  /** Start every harness instead of stopping at the first one that works. */
  probeAll?: boolean;
};

type Detectable = { slug: string; harness: string; command: string; name: string };

/** Harnesses by preference, with the command that shows that each one is installed. */
export const detectable: readonly Detectable[] = harnesses.flatMap(({ harness, detect, program }) =>
  detect === null || program === null ? [] : [{ slug: detect, harness, command: program.command, name: program.name }],
);

export const offlineAgent: Agent = {
  ...unsaidAgentFields,
  slug: "offline",
  ref: "offline",
  description: "Follows a playbook instead of a model. Needs no network and no account.",
  harness: "scripted",
  permission: "write",
  source: "builtin",
};

/**
 * Returns every agent found, with the first one that starts as the default. It starts only the harnesses up to that
 * one, because the start of the daemon waits for the result.
 */
export async function detectAgents(options: DetectOptions): Promise<DetectedAgents> {
  const agents: Agent[] = [];
  const broken: string[] = [];
  const reasons: string[] = [];
  let choice: AgentChoice | null = null;
  const found = await Promise.all(
    detectable.map(async (one) => {
      const path = await options.findCommand(one.command);
      const early =
        path !== null && options.probeAll === true ? await problemOf(options, one.harness, path) : undefined;
      return { ...one, path, early };
    }),
  );
  for (const { slug, harness, name, path, early } of found) {
    if (path === null) continue;
    const problem = early !== undefined ? early : choice === null ? await problemOf(options, harness, path) : null;
    const note = problem === null ? "" : `, does not start: ${problem}`;
    agents.push(detected(slug, harness, null, `${name}, found at ${path}${note}`));
    if (problem === null) choice ??= { slug, why: `${name} is installed (${path})` };
    else {
      broken.push(slug);
      // A problem of a later harness did not influence the choice.
      if (choice === null) reasons.push(`${name} does not start: ${problem}`);
    }
  }
  const model = await options.findModel();
  if (model) {
    agents.push(detected("native", "native", model.model, `Aegis's own agent on ${model.model}: ${model.why}`));
    choice ??= { slug: "native", why: `${model.why}, so ${model.model} can be called` };
  }
  if (choice !== null) return { agents: [...agents, offlineAgent], choice: withBroken(choice, reasons), broken };
  if (broken.length > 0) {
    const why = "no harness here starts, no model key is in the environment and no Ollama answers here";
    return {
      agents: [...agents, offlineAgent],
      choice: withBroken({ slug: offlineAgent.slug, why }, reasons),
      broken,
    };
  }
  return {
    agents: [offlineAgent],
    choice: {
      slug: offlineAgent.slug,
      why: `no harness (${detectable.map((one) => one.command).join(", ")}) is on PATH, no model key is in the environment and no Ollama answers here`,
    },
    broken,
  };
}

async function problemOf(options: DetectOptions, harness: string, path: string): Promise<string | null> {
  const { status, detail } = await options.probe(harness, path);
  return status === "ready" ? null : detail;
}

/** Adds the problems of preferred agents that were skipped, to explain the choice. */
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
    // An agent that the user did not configure asks before it changes anything.
    permission: "auto",
    source: "detected",
  };
}
