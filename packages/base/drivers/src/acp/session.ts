/** Creates or resumes the agent's own session: handshake, history, plane, then model, effort and mode. */

import { didYouMean } from "@aegis/lib/nearest.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { ChosenServers } from "../cli-harness/mcp-servers.ts";
import { type ConversationSpec, DriverError } from "../driver.ts";
import { mustAsk } from "../tool-approval.ts";
import { type AcpConnection, RequestError } from "./connection.ts";
import { turnErrorOf } from "./errors.ts";
import type { AcpOptions } from "./options.ts";
import type { AcpRecipe } from "./recipe.ts";
import { sessionServers } from "./servers.ts";
import { planeServer } from "./tool-calls.ts";
import { type ConfigOption, configOptionsSchema } from "./updates.ts";

const initializeMs = 60_000;
/** Agents connect to the plane, and some to their model, before they answer. */
const sessionMs = 120_000;
const settingMs = 30_000;
const load = "session/load";
const resume = "session/resume";

const initializeSchema = z.object({
  protocolVersion: z.number(),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().nullish(),
      mcpCapabilities: z.object({ http: z.boolean().nullish(), sse: z.boolean().nullish() }).nullish(),
      promptCapabilities: z.object({ image: z.boolean().nullish() }).nullish(),
      sessionCapabilities: z.looseObject({ resume: z.unknown().optional() }).nullish(),
    })
    .nullish(),
});
type Initialized = z.infer<typeof initializeSchema>;

const stateSchema = z.object({
  modes: z
    .object({ currentModeId: z.string(), availableModes: z.array(z.object({ id: z.string() })) })
    .nullish()
    .catch(null),
  models: z
    .object({ currentModelId: z.string(), availableModels: z.array(z.object({ modelId: z.string() })) })
    .nullish()
    .catch(null),
  configOptions: configOptionsSchema,
});
type SessionState = z.infer<typeof stateSchema>;
const newSessionSchema = stateSchema.extend({ sessionId: z.string() });
const changedOptionsSchema = z.object({ configOptions: configOptionsSchema });
const anything = z.unknown();

export type AcpSession = {
  id: string;
  resumed: boolean;
  /** The agent accepts images in prompts. */
  images: boolean;
};

export type SessionInput = {
  connection: AcpConnection;
  recipe: AcpRecipe;
  options: AcpOptions;
  spec: ConversationSpec;
  servers: ChosenServers;
  /** True if the conversation to resume contains a stored message, so that its loss must be reported. */
  hasHistory: boolean;
};

export async function openSession(input: SessionInput): Promise<AcpSession> {
  const initialized = await input.connection.request(
    "initialize",
    {
      protocolVersion: PROTOCOL_VERSION,
      // Agents access files and run commands themselves: through a client's `fs`, Gemini CLI cannot create a file.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: "aegis", title: "Aegis", version: packageVersion() },
    },
    initializeSchema,
    initializeMs,
  );
  if (initialized.protocolVersion !== PROTOCOL_VERSION)
    throw new DriverError({
      code: "protocol",
      message: `${input.recipe.program.name} speaks version ${initialized.protocolVersion} of ACP, Aegis speaks ${PROTOCOL_VERSION}`,
    });
  const images = initialized.agentCapabilities?.promptCapabilities?.image === true;
  const place = {
    cwd: input.spec.cwd,
    mcpServers: [...mcpServers(input, initialized), ...otherServers(input, initialized)],
  };
  const resumed = input.spec.resume === null ? null : await restore(input, initialized, input.spec.resume, place);
  if (resumed !== null && input.spec.resume !== null) {
    await applySettings(input, input.spec.resume, resumed);
    return { id: input.spec.resume, resumed: true, images };
  }
  const created = await input.connection.request("session/new", place, newSessionSchema, sessionMs);
  await input.spec.host.remember(created.sessionId);
  await applySettings(input, created.sessionId, created);
  return { id: created.sessionId, resumed: false, images };
}

function mcpServers({ spec, recipe }: SessionInput, initialized: Initialized): unknown[] {
  if (spec.plane === null) return [];
  if (initialized.agentCapabilities?.mcpCapabilities?.http !== true) {
    const text = `${recipe.program.name} cannot use HTTP MCP servers, so this agent cannot reach its peers.`;
    spec.host.notice({ level: "error", text });
    return [];
  }
  const headers = [{ name: "Authorization", value: `Bearer ${spec.plane.token}` }];
  return [{ type: "http", name: planeServer, url: spec.plane.url, headers }];
}

function otherServers({ spec, servers }: SessionInput, initialized: Initialized): unknown[] {
  const can = initialized.agentCapabilities?.mcpCapabilities;
  return sessionServers(servers, can, (text) => spec.host.notice({ level: "warning", text }));
}

/** The state of the resumed session; null if the agent has lost it, and then Aegis forgets it too. */
async function restore(
  input: SessionInput,
  initialized: Initialized,
  id: string,
  place: object,
): Promise<SessionState | null> {
  const { connection, recipe, spec } = input;
  const capabilities = initialized.agentCapabilities;
  const canResume = capabilities?.sessionCapabilities?.resume != null;
  const canLoad = capabilities?.loadSession === true;
  // Only `session/load` shows the agent's record, because it replays the conversation.
  const ways =
    spec.wantsRecord === true ? [canLoad && load, canResume && resume] : [canResume ? resume : canLoad && load];
  let lost = `${recipe.program.name} cannot resume a session`;
  for (const method of ways) {
    if (method === false) continue;
    try {
      return await connection.request(method, { sessionId: id, ...place }, stateSchema, sessionMs);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      const problem = turnErrorOf(error, recipe.login);
      if (problem.code === "not_logged_in") throw error;
      lost = problem.message;
    }
  }
  await spec.host.remember(null);
  if (input.hasHistory)
    spec.host.notice({ level: "warning", text: `The earlier conversation was lost (${lost}); this is a new one.` });
  return null;
}

async function applySettings(input: SessionInput, sessionId: string, state: SessionState): Promise<void> {
  const { connection, recipe, options, spec } = input;
  const { agent, host } = spec;
  let config = state.configOptions ?? [];
  const setOption = async (option: ConfigOption, value: string) => {
    const params = { sessionId, configId: option.id, value };
    const changed = await connection.request("session/set_config_option", params, changedOptionsSchema, settingMs);
    config = changed.configOptions ?? config;
  };

  const modelOption = findOption(config, "model");
  if (agent.model !== null && modelOption !== null) {
    requireValue(modelOption, agent.model, recipe);
    if (modelOption.currentValue !== agent.model) await setOption(modelOption, agent.model);
  } else if (agent.model !== null && state.models && state.models.currentModelId !== agent.model) {
    await connection.request("session/set_model", { sessionId, modelId: agent.model }, anything, settingMs);
  }

  const effortOption = findOption(config, "thought_level");
  if (agent.effort !== null && effortOption !== null && valuesOf(effortOption).includes(agent.effort))
    await setOption(effortOption, agent.effort);
  else if (agent.effort !== null)
    host.notice({
      level: "warning",
      text: `${recipe.program.name} offers no effort "${agent.effort}" for this model.`,
    });

  const modeOption = findOption(config, "mode");
  const current = state.modes?.currentModeId ?? modeOption?.currentValue;
  const mode = chooseMode(
    input,
    state.modes?.availableModes.map(({ id }) => id) ?? (modeOption ? valuesOf(modeOption) : []),
  );
  if (mode === null || mode === current) return;
  try {
    if (modeOption !== null && !state.modes) await setOption(modeOption, mode);
    else await connection.request("session/set_mode", { sessionId, modeId: mode }, anything, settingMs);
  } catch (error) {
    if (!(error instanceof RequestError) || options.mode !== undefined) throw error;
    const why = turnErrorOf(error, recipe.login).message;
    host.notice({
      level: "warning",
      text: `${recipe.program.name} stays in mode "${current}" instead of "${mode}": ${why}`,
    });
  }
}

/** The mode to set, or null to stay in the agent's default. */
function chooseMode({ recipe, options, spec }: SessionInput, offered: readonly string[]): string | null {
  // The read mode asks about most calls; Aegis then answers those that need no question.
  const permission = mustAsk(spec.host) ? "read" : spec.agent.permission;
  const wanted = options.mode === undefined || spec.host.gated ? recipe.modes[permission] : [options.mode];
  const mode = pickMode(offered, wanted);
  if (mode === null && options.mode !== undefined)
    throw new DriverError({
      code: "start",
      message: `${recipe.program.name} has no mode "${options.mode}"${didYouMean(options.mode, offered)}`,
      fix: offered.length === 0 ? "It offers no modes." : `It offers ${offered.join(", ")}.`,
    });
  return mode;
}

/** Mode ids are plain words, or URIs that end in one after `#`. */
function pickMode(offered: readonly string[], wanted: readonly string[]): string | null {
  for (const name of wanted) {
    const found = offered.find((id) => id === name || id.endsWith(`#${name}`));
    if (found !== undefined) return found;
  }
  return null;
}

function findOption(options: readonly ConfigOption[], category: string): ConfigOption | null {
  return options.find((option) => option.category === category) ?? null;
}

const choiceSchema = z.union([
  z.object({ value: z.string() }).transform((choice) => [choice.value]),
  z
    .object({ options: z.array(z.object({ value: z.string() })) })
    .transform((group) => group.options.map((o) => o.value)),
]);

function valuesOf(option: ConfigOption): string[] {
  return (option.options ?? []).flatMap((choice) => choiceSchema.safeParse(choice).data ?? []);
}

function requireValue(option: ConfigOption, model: string, recipe: AcpRecipe): void {
  const offered = valuesOf(option);
  if (offered.includes(model)) return;
  const some = offered.slice(0, 10).join(", ");
  throw new DriverError({
    code: "bad_model",
    message: `${recipe.program.name} has no model "${model}"${didYouMean(model, offered)}`,
    fix: `It offers ${some}${offered.length > 10 ? ` and ${offered.length - 10} more` : ""}.`,
  });
}
