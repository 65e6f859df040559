/**
 * What entries say about each other: names that must exist, keys that exclude or need each other. Works on the files'
 * data before the schema has accepted it, so that these faults are told together with all others.
 */
import { didYouMean } from "../../lib/nearest.ts";
import { type Finding, isRecord } from "./combine.ts";
import { describeValue, type KeyPath } from "./problem.ts";

export type KnownNames = {
  harnesses: readonly string[];
  /** Agents that are there without being declared. Those of plugins are named `plugin:agent` and not judged. */
  agents?: readonly string[] | undefined;
  /** Workflows come from plugins too; without the list their names are not judged. */
  workflows?: readonly string[] | undefined;
};

/** A line with a hundred names is not read. */
const namesAtMost = 20;

export function checkReferences(config: unknown, known: KnownNames): Finding[] {
  if (!isRecord(config)) return [];
  const agents = [...new Set([...Object.keys(section(config, "agents")), ...(known.agents ?? [])])];
  const queues = Object.keys(section(config, "queues"));
  return [
    ...checkName(["default_agent"], config.default_agent, "agent", agents),
    ...entries(config, "agents").flatMap(([slug, entry]) => checkAgent(["agents", slug], entry, agents, known)),
    ...entries(config, "queues").flatMap(([name, entry]) => [
      ...checkName(["queues", name, "agent"], entry.agent, "agent", agents),
      ...checkBudgets(["queues", name, "budgets"], entry.budgets),
    ]),
    ...entries(config, "schedules").flatMap(([name, entry]) => [
      ...checkName(["schedules", name, "agent"], entry.agent, "agent", agents),
      ...checkName(["schedules", name, "queue"], entry.queue, "queue", queues),
      ...(known.workflows === undefined
        ? []
        : checkName(["schedules", name, "workflow"], entry.workflow, "workflow", known.workflows)),
      ...checkSchedule(["schedules", name], entry),
    ]),
    ...entries(section(config, "groups"), "presets").flatMap(([name, entry]) =>
      checkNames(["groups", "presets", name, "agents"], entry.agents, "agent", agents),
    ),
  ];
}

function checkAgent(path: KeyPath, entry: Entry, agents: readonly string[], known: KnownNames): Finding[] {
  const key = entry.harness === undefined ? "provider" : "harness";
  const harness = entry[key];
  const findings = [
    ...oneOf(path, entry, ["harness", "provider"], true),
    ...oneOf(path, entry, ["tools", "tools_allow"], false),
    ...oneOf(path, entry, ["deny_tools", "tools_deny"], false),
    ...checkName([...path, key], harness, "harness", known.harnesses),
  ];
  if (harness === "acp" && entry.command === undefined && !hasOption(entry, "command"))
    findings.push({
      path: [...path, "command"],
      at: "key",
      missing: true,
      message: "expected the program that speaks ACP, because the harness is acp, found nothing",
    });
  const subagents = isRecord(entry.subagents) ? entry.subagents.allow_agents : undefined;
  return [...findings, ...checkNames([...path, "subagents", "allow_agents"], subagents, "agent", ["*", ...agents])];
}

function checkSchedule(path: KeyPath, entry: Entry): Finding[] {
  return [
    ...oneOf(path, entry, ["workflow", "queue", "agent"], true),
    ...oneOf(path, entry, ["cron", "fire_at"], true),
    ...goesWith(path, entry, "queue", "payload"),
    ...goesWith(path, entry, "agent", "prompt"),
  ];
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

/** Text that is not a name of `kind`. Other types are the schema's to report. */
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

/** Exactly one of several keys, or at most one when none is needed. */
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
