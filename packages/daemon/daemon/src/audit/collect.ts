/** Collects the audit from the loaded parts of the daemon and from the user's trust. Read-only. */
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Browser } from "@aegis/contract/api-web.ts";
import type { Audit, AuditGate, AuditPlugin, AuditTrust } from "@aegis/contract/audit.ts";
import { hookKinds } from "@aegis/contract/hook.ts";
import type { MissingGate, PluginDetail } from "@aegis/contract/plugin.ts";
import { homeOf, userName } from "@aegis/lib/home.ts";
import { variablesIn } from "@aegis/lib/variables.ts";
import { itemKey } from "@aegis/plugins/trust/trust.ts";
import { agentReach } from "@aegis/project/agents/reach.ts";
import type { Config } from "@aegis/project/config/config.ts";
import { channelKeys } from "@aegis/project/config/schema.ts";
import { looksSecret } from "@aegis/project/config/show.ts";
import { stateOwner, statePlace } from "@aegis/project/state/decide.ts";
import { listTrust } from "@aegis/project/trust/agree.ts";
import type { Runtime } from "../build.ts";
import type { OpenProject } from "../open-project.ts";
import { auditAccess } from "./access.ts";
import { auditAgents, whatStaysOpen } from "./agents.ts";
import { auditFindings } from "./findings.ts";

export async function collectAudit(
  project: OpenProject,
  runtime: Runtime,
  { url, browsers }: { url: string; browsers: readonly Browser[] },
): Promise<Audit> {
  const { root, version, configService, trust } = project;
  const { config } = configService.settings();
  const agents = auditAgents(runtime.agents, runtime.tools, (agent) =>
    agentReach(agent, config, { root, home: homeOf(project.env) }),
  );
  const details = runtime.plugins.plugins.list().map(({ name }) => runtime.plugins.plugins.get(name));
  const plugins = details.map(pluginOf);
  const audit: Omit<Audit, "findings"> = {
    project: root,
    user: userName(),
    version,
    open: whatStaysOpen(agents, userName()),
    agents,
    state: await stateOf(project),
    gates: [...details.flatMap(gatesOf), ...runtime.plugins.plugins.missingGates.flatMap(missingOf)],
    plugins,
    queues: Object.entries(config.queues).map(([queue, { agent, rights = "producer", producers = [] }]) => ({
      queue,
      agent,
      rights,
      producers,
    })),
    access: auditAccess({
      config,
      browsers,
      clients: runtime.clients.list(),
      channels: await runtime.channels.channels.list(),
    }),
    network: networkOf(config, url),
    secrets: secretsOf(agents, plugins, config),
    trust: await trustOf(project),
  };
  const findings = auditFindings({
    ...audit,
    exposed: await exposedFiles([dirname(trust.store.path), trust.store.path, project.stateDir]),
    agentInstall: config.skills.agent_install,
    privateFetch: Object.entries(config.agents)
      .filter(([, { options }]) => options.allow_private_fetch === true)
      .map(([slug]) => slug),
    plainSecrets: plainSecrets(config),
  });
  return { ...audit, findings };
}

function pluginOf({ name, version, status, place, has_code, brings, settings }: PluginDetail): AuditPlugin {
  return {
    plugin: name,
    version,
    status,
    place,
    has_code,
    tools: brings.tools.map(({ name: tool, permission, program }) => ({ name: tool, permission, program })),
    secrets: settings
      .filter(({ secret, key, value }) => secret || key.endsWith("_env") || variablesIn(value).length > 0)
      .map(({ key }) => key),
  };
}

/** Hooks that can stop an action: gates, and hooks whose failure blocks. */
function gatesOf({ name, brings }: PluginDetail): AuditGate[] {
  return brings.hooks
    .filter(({ event, strict }) => strict || (hookKinds as Record<string, string>)[event] === "gate")
    .map((hook) => ({ plugin: name, hook: `${hook.event} (${hook.name})`, state: "active", reason: null }));
}

function missingOf({ plugin, hooks, reason }: MissingGate): AuditGate[] {
  return hooks.map((hook) => ({ plugin, hook, state: "missing", reason }));
}

async function stateOf({ root, env }: OpenProject): Promise<Audit["state"]> {
  const found = await stateOwner(await statePlace(root, env));
  const isYours = found.owner === "you";
  return { owner: found.owner, since: isYours ? found.since : null, adopted: isYours && found.adopted };
}

function networkOf(config: Config, url: string): Audit["network"] {
  return {
    bind: config.server.bind,
    url,
    allowed_hosts: config.server.allowed_hosts,
    models: Object.entries(config.models).map(([provider, { base_url, key_env }]) => ({
      provider,
      base_url: base_url ?? null,
      key: key_env ?? null,
    })),
    plugin_registries: config.plugin_registries,
    skill_registry: config.skills.registry,
    webhooks: Object.entries(config.webhooks.out).map(([name, { url: to, allow_private }]) => ({
      name,
      origin: to === undefined ? "no address" : new URL(to).origin,
      allow_private,
    })),
    channels: channelKeys.filter((key) => config[key] !== undefined),
  };
}

function secretsOf(agents: Audit["agents"], plugins: Audit["plugins"], config: Config): Audit["secrets"] {
  const users = new Map<string, string[]>();
  const add = (name: string, user: string) => users.set(name, [...(users.get(name) ?? []), user]);
  for (const { agent, secrets } of agents) for (const name of secrets) add(name, `agent ${agent}`);
  for (const [provider, { key_env }] of Object.entries(config.models))
    if (key_env !== undefined) add(key_env, `model ${provider}`);
  for (const [user, name] of channelSecrets(config)) add(name, user);
  for (const name of variablesIn(config.cluster?.database)) add(name, "cluster");
  for (const { plugin, secrets } of plugins)
    for (const key of secrets) add(`plugins.${plugin}.${key}`, `plugin ${plugin}`);
  return [...users]
    .map(([name, used_by]) => ({ name, used_by }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** The variable or the file that holds the secret of each channel. */
function channelSecrets(config: Config): [string, string][] {
  const hooks = (["in", "out"] as const).flatMap((way) =>
    Object.entries(config.webhooks[way]).map(([name, hook]): [string, string | undefined] => [
      `webhook ${way}:${name}`,
      hook.secret_env ?? hook.secret_file,
    ]),
  );
  const people = channelKeys.map((key): [string, string | undefined] => [
    key,
    config[key]?.token_env ?? config[key]?.token_file,
  ]);
  return [...people, ...hooks].flatMap(([user, name]) => (name === undefined ? [] : [[user, name]]));
}

async function trustOf({ root, env, drivers, trust }: OpenProject): Promise<Audit["trust"]> {
  const [judged, project] = await Promise.all([
    listTrust({ root, env, harnesses: drivers.names }),
    trust.store.project(root),
  ]);
  const items = judged.map(({ item, verdict }): AuditTrust => {
    const agreed = project?.agreed[itemKey(item.kind, item.name)];
    const { kind, name, file, what } = item;
    return {
      kind,
      name,
      file,
      what,
      state: verdict.allowed ? "trusted" : verdict.reason,
      since: agreed?.at ?? null,
      by: agreed?.by ?? null,
    };
  });
  return { file: trust.store.path, always: project?.always === true, dev: project?.dev ?? [], items };
}

/** Paths that other users of the machine can read or change. Windows has no such permission bits. */
async function exposedFiles(paths: readonly string[]): Promise<string[]> {
  if (process.platform === "win32") return [];
  const modes = await Promise.all(
    paths.map((path) =>
      stat(path).then(
        ({ mode }) => mode,
        () => 0,
      ),
    ),
  );
  return paths.filter((_, index) => ((modes[index] ?? 0) & 0o077) !== 0);
}

function plainSecrets({ agents, plugins }: Config): string[] {
  const inEnv = Object.entries(agents).flatMap(([slug, { env }]) => literals(`agents.${slug}.env`, env));
  const inPlugins = Object.entries(plugins).flatMap(([name, own]) =>
    typeof own === "object" && !Array.isArray(own) ? literals(`plugins.${name}`, own) : [],
  );
  return [...inEnv, ...inPlugins];
}

function literals(prefix: string, values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values)
    .filter(([name, value]) => looksSecret(name) && isLiteral(value) && !/_env$/i.test(name))
    .map(([name]) => `${prefix}.${name}`);
}

/** True for text that is in the file itself instead of in a variable. */
function isLiteral(value: unknown): boolean {
  return typeof value === "string" && value !== "" && variablesIn(value).length === 0;
}
