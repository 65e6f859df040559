/**
 * Checks references and relations between entries: names that must exist, and keys that exclude or require each other.
 * Works on the raw data, before schema validation, so that all problems are reported together.
 */

import { mergeQueueName } from "@aegis/contract/landing.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { soleVariable } from "@aegis/lib/variables.ts";
import type { Finding } from "./combine.ts";
import { describeValue, type KeyPath } from "./problem.ts";
import { channelKeys } from "./schema.ts";

export type KnownNames = {
  harnesses: readonly string[];
  /** Agents that exist without a declaration. Plugin agents are named `plugin:agent` and are not checked. */
  agents?: readonly string[] | undefined;
  /** Plugins also provide workflows. Without this list, workflow names are not checked. */
  workflows?: readonly string[] | undefined;
};

/** A longer list would be unreadable. */
const namesAtMost = 20;

export function checkReferences(config: unknown, known: KnownNames): Finding[] {
  if (!isRecord(config)) return [];
  const agents = [...new Set([...Object.keys(section(config, "agents")), ...(known.agents ?? [])])];
  const queues = Object.keys(section(config, "queues"));
  return [
    ...checkName(["default_agent"], config.default_agent, "agent", agents),
    ...entries(config, "agents").flatMap(([slug, entry]) => checkAgent(["agents", slug], entry, agents, known)),
    ...entries(config, "queues").flatMap(([name, entry]) => [
      ...checkReserved(["queues", name], name),
      ...checkName(["queues", name, "agent"], entry.agent, "agent", agents),
      ...checkBudgets(["queues", name, "budgets"], entry.budgets),
      ...checkNames(["queues", name, "producers"], entry.producers, "agent", agents),
      ...checkRights(["queues", name], entry),
    ]),
    ...entries(config, "schedules").flatMap(([name, entry]) => [
      ...checkName(["schedules", name, "agent"], entry.agent, "agent", agents),
      ...checkName(["schedules", name, "queue"], entry.queue, "queue", queues),
      ...(known.workflows === undefined
        ? []
        : checkName(["schedules", name, "workflow"], entry.workflow, "workflow", known.workflows)),
      ...checkSchedule(["schedules", name], entry),
    ]),
    ...checkChannels(config, agents, queues),
    ...checkCluster(config.cluster),
    ...entries(section(config, "groups"), "presets").flatMap(([name, entry]) =>
      checkNames(["groups", "presets", name, "agents"], entry.agents, "agent", agents),
    ),
  ];
}

function checkAgent(path: KeyPath, entry: Entry, agents: readonly string[], known: KnownNames): Finding[] {
  const key = entry.harness === undefined ? "provider" : "harness";
  const harness = entry[key];
  const findings = [
    ...oneOf(path, entry, ["harness", "provider"], entry.extends === undefined),
    ...checkName([...path, "extends"], entry.extends, "agent", agents),
    ...oneOf(path, entry, ["tools", "tools_allow"], false),
    ...oneOf(path, entry, ["deny_tools", "tools_deny"], false),
    ...checkName([...path, key], harness, "harness", known.harnesses),
  ];
  if (harness === "acp" && entry.extends === undefined && entry.command === undefined && !hasOption(entry, "command"))
    findings.push({
      path: [...path, "command"],
      at: "key",
      missing: true,
      message: "expected the program that speaks ACP, because the harness is acp, found nothing",
    });
  const subagents = isRecord(entry.subagents) ? entry.subagents.allow_agents : undefined;
  const anyAgent = ["*", ...agents];
  return [
    ...findings,
    ...checkNames([...path, "subagents", "allow_agents"], subagents, "agent", anyAgent),
    ...checkNames([...path, "may_end"], entry.may_end, "agent", anyAgent),
  ];
}

/** A queue that grants more rights than a producer has must list its producers. */
function checkRights(path: KeyPath, { rights, producers }: Entry): Finding[] {
  if (rights !== "own" || (Array.isArray(producers) && producers.length > 0)) return [];
  const message = "expected the agents that may use a queue with rights: own, found nothing";
  return [{ path: [...path, "producers"], at: "key", missing: producers === undefined, message }];
}

function checkReserved(path: KeyPath, name: string): Finding[] {
  if (name !== mergeQueueName) return [];
  return [{ path, at: "key", message: `expected another name: ${mergeQueueName} is the queue of landings` }];
}

function checkSchedule(path: KeyPath, entry: Entry): Finding[] {
  return [
    ...oneOf(path, entry, ["workflow", "queue", "agent"], true),
    ...oneOf(path, entry, ["cron", "fire_at"], true),
    ...goesWith(path, entry, "queue", "payload"),
    ...goesWith(path, entry, "agent", "prompt"),
  ];
}

function checkChannels(config: Entry, agents: readonly string[], queues: readonly string[]): Finding[] {
  const { webhooks } = config;
  const hooks = isRecord(webhooks) ? webhooks : {};
  const secrets = ["secret_env", "secret_file"];
  return [
    ...channelKeys.flatMap((key) => {
      const channel = config[key];
      if (!isRecord(channel)) return [];
      return [
        ...oneOf([key], channel, ["token_env", "token_file"], true),
        ...checkName([key, "agent"], channel.agent, "agent", agents),
      ];
    }),
    ...entries(hooks, "out").flatMap(([name, entry]) => [
      ...oneOf(["webhooks", "out", name], entry, ["url"], true),
      // A topic of ntfy may be open to everyone; every other receiver must be able to check the signature.
      ...oneOf(["webhooks", "out", name], entry, secrets, entry.format !== "ntfy"),
    ]),
    ...entries(hooks, "in").flatMap(([name, entry]) => [
      ...oneOf(["webhooks", "in", name], entry, secrets, true),
      ...oneOf(["webhooks", "in", name], entry, ["agent", "session", "queue"], true),
      ...checkName(["webhooks", "in", name, "agent"], entry.agent, "agent", agents),
      ...checkName(["webhooks", "in", name, "queue"], entry.queue, "queue", queues),
    ]),
  ];
}

/** The message does not repeat the value, which may be a URL with a password. */
function checkCluster(cluster: unknown): Finding[] {
  if (!isRecord(cluster)) return [];
  const { database } = cluster;
  if (typeof database !== "string") return oneOf(["cluster"], cluster, ["database"], true);
  if (soleVariable(database) !== null) return [];
  const message =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: how a setting refers to a variable
    "expected only the name of a variable, as in ${AEGIS_DATABASE_URL}: the address of a database may hold a password";
  return [{ path: ["cluster", "database"], at: "value", message }];
}

function checkBudgets(path: KeyPath, budgets: unknown): Finding[] {
  if (!Array.isArray(budgets)) return [];
  return budgets.flatMap((budget, index) =>
    isRecord(budget) ? oneOf([...path, index], budget, ["usd", "output_tokens"], true) : [],
  );
}

type Entry = Record<string, unknown>;

function section(config: Entry, name: string): Entry {
  const value = config[name];
  return isRecord(value) ? value : {};
}

function entries(config: Entry, name: string): [string, Entry][] {
  return Object.entries(section(config, name)).filter((pair): pair is [string, Entry] => isRecord(pair[1]));
}

function hasOption(entry: Entry, name: string): boolean {
  return isRecord(entry.options) && entry.options[name] !== undefined;
}

/** Checks text that should be a name of `kind`. The schema reports values of other types. */
function checkName(path: KeyPath, value: unknown, kind: string, known: readonly string[]): Finding[] {
  if (typeof value !== "string" || known.includes(value)) return [];
  if (kind === "agent" && value.includes(":")) return [];
  const more = known.length > namesAtMost ? `, and ${known.length - namesAtMost} more` : "";
  const names = known.length === 0 ? "there is none" : `known: ${known.slice(0, namesAtMost).join(", ")}${more}`;
  const message = `expected the name of a declared ${kind}, found ${describeValue(value)}${didYouMean(value, known)}; ${names}`;
  return [
    { path, at: "value", message: kind === "agent" || kind === "queue" ? message : message.replace("declared ", "") },
  ];
}

function checkNames(path: KeyPath, values: unknown, kind: string, known: readonly string[]): Finding[] {
  if (!Array.isArray(values)) return [];
  return values.flatMap((value, index) => checkName([...path, index], value, kind, known));
}

/** Requires exactly one of several keys, or at most one if none is required. */
function oneOf(path: KeyPath, entry: Entry, keys: readonly string[], needed: boolean): Finding[] {
  const given = keys.filter((key) => entry[key] !== undefined);
  const choice = keys.join(" or ");
  const [first, ...more] = given;
  if (first === undefined)
    return needed
      ? [{ path: [...path, keys[0] ?? ""], at: "key", missing: true, message: `expected ${choice}, found nothing` }]
      : [];
  return more.map((key) => ({
    path: [...path, key],
    at: "key",
    message: `expected only one of ${choice}, found ${key} beside ${first}`,
  }));
}

function goesWith(path: KeyPath, entry: Entry, key: string, partner: string): Finding[] {
  if (entry[key] !== undefined && entry[partner] === undefined)
    return [
      {
        path: [...path, partner],
        at: "key",
        missing: true,
        message: `expected ${partner} to go with ${key}, found nothing`,
      },
    ];
  if (entry[key] === undefined && entry[partner] !== undefined)
    return [{ path: [...path, partner], at: "key", message: `expected ${partner} only together with ${key}` }];
  return [];
}
