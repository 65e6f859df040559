/** `aegis audit`: reports who may do what, what is trusted, and what should be tightened. */
import { type Audit, type AuditFinding, type AuditTrust, auditLevels, type Leave } from "@aegis/contract/audit.ts";
import { type Cell, type Look, table } from "../../format/columns.ts";
import { oneLine, plural, wrap } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { daemonCommands } from "./spec.ts";

export const audit: Handler<typeof daemonCommands.audit> = async (cx, args) => {
  // The given level and the levels above it.
  const fails = args.failOn === undefined ? [] : auditLevels.slice(0, auditLevels.indexOf(args.failOn) + 1);
  const answer = await cx.call("audit");
  cx.show(answer, () => auditPage(answer.audit, cx));
  return answer.audit.findings.some(({ level }) => fails.includes(level)) ? exitCodes.failed : exitCodes.ok;
};

function auditPage(audit: Audit, look: Look): string[] {
  const { style } = look;
  const sections: [string, string[]][] = [
    ["AGENTS", agentLines(audit, look)],
    ["TOOLS", toolLines(audit, look)],
    ["GATES", gateLines(audit, look)],
    ["PLUGINS", pluginLines(audit, look)],
    ["QUEUES", queueLines(audit, look)],
    ["ACCESS BESIDES YOURS", accessLines(audit, look)],
    ["NETWORK", networkLines(audit, look)],
    ["SECRETS (names only)", secretLines(audit, look)],
    ["TRUST", trustLines(audit, look)],
    ["FINDINGS", findingLines(audit.findings, look)],
  ];
  return [
    `${style.bold("aegis audit")}  ${audit.project}  ${style.dim(`user ${audit.user}, aegis ${audit.version}`)}`,
    ...audit.open.flatMap((line) => indented(line, look.columns)),
    ...sections.flatMap(([title, lines]) => (lines.length === 0 ? [] : ["", style.bold(title), ...lines])),
  ];
}

function agentLines({ agents }: Audit, look: Look): string[] {
  const { style } = look;
  const leave = (value: Leave): Cell => ({
    text: value,
    paint: { no: style.dim, asks: style.green, yes: style.yellow }[value],
  });
  const titles = ["AGENT", "HARNESS", "RIGHTS", "SANDBOX", "EDIT", "RUN", "FETCH", "TOOLS", "ENV", "NOTE"];
  return indentedTable(look, titles, agents, (one) => [
    { text: one.agent, paint: style.cyan },
    one.harness,
    one.permission,
    { text: one.sandbox, paint: one.sandbox === "off" ? style.yellow : style.green },
    leave(one.edit),
    leave(one.run),
    leave(one.fetch),
    String(one.tools.length),
    one.secrets.join(", ") || "-",
    { text: one.refused === null ? (one.note ?? one.source) : "not started until you agree", paint: style.dim },
  ]);
}

/** Agents with the same tools share a line; the shorter of "has" and "lacks" is shown. */
function toolLines({ agents }: Audit, { columns }: Look): string[] {
  const groups = new Map<string, { agents: string[]; tools: string[]; withheld: string[] }>();
  for (const { agent, tools, withheld } of agents) {
    const key = tools.join(" ");
    const group = groups.get(key) ?? { agents: [], tools, withheld };
    groups.set(key, { ...group, agents: [...group.agents, agent] });
  }
  const known = agents[0] === undefined ? [] : [...agents[0].tools, ...agents[0].withheld].sort();
  return [
    `  the ${known.length} tools here: ${known.join(", ")}`,
    ...[...groups.values()].map((group) => `  ${group.agents.join(", ")}: ${toolText(group)}`),
    ...agents.flatMap(({ agent, allow_agents, may_end }) => [
      ...(allow_agents === null ? [] : [`  ${agent} starts only these agents: ${allow_agents.join(", ") || "none"}`]),
      ...(may_end.length === 0 ? [] : [`  ${agent} may end the work of: ${may_end.join(", ")}`]),
    ]),
  ].flatMap((line) => indented(line, columns));
}

function toolText({ tools, withheld }: { tools: readonly string[]; withheld: readonly string[] }): string {
  if (tools.length === 0) return "none";
  if (withheld.length === 0) return "all";
  return withheld.length < tools.length ? `all but ${withheld.join(", ")}` : tools.join(", ");
}

function gateLines({ gates }: Audit, look: Look): string[] {
  const { style } = look;
  if (gates.length === 0) return [style.dim("  no plugin checks calls; Aegis asks before agents change its settings")];
  return indentedTable(look, ["PLUGIN", "HOOK", "STATE", "WHY"], gates, (gate) => [
    { text: gate.plugin, paint: style.cyan },
    gate.hook,
    { text: gate.state, paint: gate.state === "active" ? style.green : style.red },
    gate.reason ?? "",
  ]);
}

function pluginLines({ plugins }: Audit, look: Look): string[] {
  const { style } = look;
  if (plugins.length === 0) return [];
  return indentedTable(look, ["PLUGIN", "VERSION", "STATUS", "RUNS", "TOOLS"], plugins, (one) => [
    { text: one.plugin, paint: style.cyan },
    one.version,
    { text: one.status, paint: one.status === "loaded" ? style.green : style.yellow },
    one.has_code ? "code" : "no code",
    one.tools.map(({ name, permission }) => `${name} (${permission})`).join(", ") || "-",
  ]);
}

function queueLines({ queues }: Audit, look: Look): string[] {
  const { style } = look;
  if (queues.length === 0) return [];
  const titles = ["QUEUE", "AGENT", "RIGHTS OF TASKS FROM AGENTS"];
  return indentedTable(look, titles, queues, ({ queue, agent, rights, producers }) => [
    { text: queue, paint: style.cyan },
    agent,
    rights === "own" ? `its agent's, for ${producers.join(", ")}` : "the producer's",
  ]);
}

/** Wrapped and not cut, because the command that ends the access must be readable. */
function accessLines({ access }: Audit, { style, columns }: Look): string[] {
  if (access.length === 0) return [style.dim("  none: no browser, channel, program, webhook or schedule")];
  return access.flatMap(({ who, may, since, fix }) => {
    const from = since === null ? "" : `, since ${since.slice(0, 10)}`;
    return [
      ...indented(`  ${style.cyan(oneLine(who))}: ${oneLine(may)}${from}`, columns),
      ...indented(`    ${style.dim(`end it: ${oneLine(fix)}`)}`, columns),
    ];
  });
}

function networkLines({ network }: Audit, { columns }: Look): string[] {
  const models = network.models.map(
    ({ provider, base_url, key }) =>
      `  model ${provider}: ${base_url ?? "its usual address"}, key ${key ?? "in its usual variable"}`,
  );
  const hosts = network.allowed_hosts.length === 0 ? [] : [`  also answers for: ${network.allowed_hosts.join(", ")}`];
  const registries = network.plugin_registries.map((registry) => `  plugins from: ${registry}`);
  return [
    `  daemon: ${network.url}`,
    ...hosts,
    ...models,
    ...registries,
    `  skills from: ${network.skill_registry}`,
    ...network.channels.map((name) => `  messages and asks go to: ${name} (channel)`),
    ...network.webhooks.map(({ name, origin }) => `  events go to: ${origin} (webhook out:${name})`),
  ].flatMap((line) => indented(line, columns));
}

function secretLines({ secrets }: Audit, { columns }: Look): string[] {
  return secrets.flatMap(({ name, used_by }) => indented(`  ${name}: ${used_by.join(", ")}`, columns));
}

function trustLines({ trust, state }: Audit, look: Look): string[] {
  const { style } = look;
  const since = state.since === null ? "" : `, since ${state.since.slice(0, 10)}`;
  const owner = [
    `  state: ${state.owner === "you" ? "yours" : state.owner}${since}${state.adopted ? ", adopted" : ""}`,
  ];
  const always = trust.always ? [style.yellow("  everything here is trusted, including future changes")] : [];
  if (trust.items.length === 0 && always.length === 0)
    return [...owner, style.dim("  nothing in the project needs trust")];
  return [
    ...owner,
    ...always,
    ...(trust.items.length === 0
      ? []
      : indentedTable(look, ["STATE", "WHAT", "SINCE", "DOES"], trust.items, (item) => [
          { text: item.state, paint: item.state === "trusted" ? style.green : style.yellow },
          { text: `${item.kind} ${item.name}`, paint: style.cyan },
          agreedText(item),
          { text: item.what, paint: style.dim },
        ])),
  ];
}

function agreedText({ state, since, by }: AuditTrust): string {
  if (since === null) return state === "trusted" ? "before 0.2" : "-";
  return `${since.slice(0, 16)}Z ${by ?? ""}`.trimEnd();
}

function findingLines(findings: readonly AuditFinding[], look: Look): string[] {
  const { style } = look;
  if (findings.length === 0) return [style.green("  no findings")];
  const paint = { high: style.red, medium: style.yellow, low: style.dim };
  return [
    ...findings.flatMap(({ level, subject, finding, fix }) => [
      ...indented(`  ${paint[level](level.padEnd(6))}  ${oneLine(subject)}: ${oneLine(finding)}`, look.columns),
      ...indented(`          ${style.dim(`close it: ${oneLine(fix)}`)}`, look.columns),
    ]),
    "",
    plural(findings.length, "finding"),
  ];
}

/** No cell contains a line break. */
function indentedTable<T>(
  { style, columns }: Look,
  titles: readonly string[],
  items: readonly T[],
  row: (item: T) => readonly (Cell | string)[],
): string[] {
  const safe = (cell: Cell | string) =>
    typeof cell === "string" ? oneLine(cell) : { ...cell, text: oneLine(cell.text) };
  const lines = table({ style, columns: columns - 2 }, titles, items, (item) => row(item).map(safe));
  return lines.map((line) => `  ${line}`);
}

/** Wraps long lines and never truncates them: the reader looks for problems here. */
function indented(line: string, width: number): string[] {
  const indent = /^ */.exec(line)?.[0] ?? "";
  return wrap(line.trimStart(), Math.max(20, width - indent.length - 2)).map((part, index) =>
    index === 0 ? `${indent}${part}` : `${indent}  ${part}`,
  );
}
