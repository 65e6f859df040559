/** The pickers that an editor shows for a session: its agent (also as ACP modes) and its model. */

import type { AgentSummary } from "@aegis/contract/agent.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk/unstable";

export const agentOption = "agent";
export const modelOption = "model";
/** Selects the model of the agent. The name of a model does not start with a colon. */
export const agentModel = ":agent";

export type Choices = { configOptions: SessionConfigOption[]; modes: SessionModeState };

/** Zed ignores modes if there are options; other clients know only modes. So both are sent. */
export function choicesFor(
  session: Pick<SessionView, "agent" | "model" | "harness">,
  agents: readonly Pick<AgentSummary, "slug" | "description" | "harness" | "model">[],
): Choices {
  const known = agents.some(({ slug }) => slug === session.agent)
    ? agents
    : [...agents, { slug: session.agent, description: "", harness: session.harness, model: null }];
  return {
    configOptions: [
      {
        id: agentOption,
        name: "Agent",
        category: "mode",
        type: "select",
        currentValue: session.agent,
        options: known.map(({ slug, description }) => ({ value: slug, name: slug, description })),
      },
      {
        id: modelOption,
        name: "Model",
        category: "model",
        type: "select",
        currentValue: session.model ?? agentModel,
        options: modelsFor(session, known),
      },
    ],
    modes: {
      currentModeId: session.agent,
      availableModes: known.map(({ slug, description }) => ({ id: slug, name: slug, description })),
    },
  };
}

/** The models that the project's agents of the same harness name. */
function modelsFor(
  session: Pick<SessionView, "agent" | "model" | "harness">,
  agents: readonly Pick<AgentSummary, "slug" | "harness" | "model">[],
) {
  const own = agents.find(({ slug }) => slug === session.agent)?.model ?? null;
  const same = agents.flatMap(({ harness, model }) => (harness === session.harness && model !== null ? [model] : []));
  const names = [...new Set([...same, ...(session.model === null ? [] : [session.model])])].sort();
  const first = { value: agentModel, name: own === null ? "The harness's choice" : `The agent's: ${own}` };
  return [first, ...names.map((name) => ({ value: name, name }))];
}
