/** `aegis audit`: reports who may do what, what is trusted, and what should be tightened. */
import { type Audit, type AuditFinding, type AuditTrust, auditLevels, type Leave } from "../../../contract/audit.ts";
import { type Cell, columns, tableOptions } from "../../format/columns.ts";
import { createStyle, type Style } from "../../format/style.ts";
import { oneLine, plural, wrap } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { daemonCommands } from "./spec.ts";

export const audit: Handler<typeof daemonCommands.audit> = async (cx, args) => {
  // The given level and the levels above it.
  const fails = args.failOn === undefined ? [] : auditLevels.slice(0, auditLevels.indexOf(args.failOn) + 1);
  const answer = await cx.call("audit");
  cx.show(answer, () => auditPage(answer.audit, tableOptions(cx)));
  return answer.audit.findings.some(({ level }) => fails.includes(level)) ? exitCodes.failed : exitCodes.ok;
};

type Options = { color: boolean; width: number };

function auditPage(audit: Audit, options: Options): string[] {
  const style = createStyle(options.color);
  const sections: [string, string[]][] = [
    ["AGENTS", agentLines(audit, style, options)],
    ["TOOLS", toolLines(audit, options)],
    ["GATES", gateLines(audit, style, options)],
    ["PLUGINS", pluginLines(audit, style, options)],
    ["QUEUES", queueLines(audit, style, options)],
    ["NETWORK", networkLines(audit, options)],
    ["SECRETS (names only)", secretLines(audit, options)],
    ["TRUST", trustLines(audit, style, options)],
    ["FINDINGS", findingLines(audit.findings, style, options)],
  ];
  return [
    `${style.bold("aegis audit")}  ${audit.project}  ${style.dim(`user ${audit.user}, aegis ${audit.version}`)}`,
    ...sections.flatMap(([title, lines]) => (lines.length === 0 ? [] : ["", style.bold(title), ...lines])),
  ];
}

function agentLines({ agents }: Audit, style: Style, { width }: Options): string[] {
  const leave = (value: Leave): Cell => ({
    text: value,
    paint: { no: style.dim, asks: style.green, yes: style.yellow }[value],
  });
  const rows = agents.map((one): Cell[] => [
    { text: one.agent, paint: style.cyan },
    { text: one.harness },
    { text: one.permission },
    leave(one.edit),
    leave(one.run),
    leave(one.fetch),
    { text: String(one.tools.length) },
    { text: one.secrets.join(", ") || "-" },
    { text: one.refused ?? one.note ?? one.source, paint: style.dim },
  ]);
  return table(style, ["AGENT", "HARNESS", "RIGHTS", "EDIT", "RUN", "FETCH", "TOOLS", "ENV", "NOTE"], rows, width);
}

/** Agents with the same tools share a line; the shorter of "has" and "lacks" is shown. */
function toolLines({ agents }: Audit, { width }: Options): string[] {
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
  ].flatMap((line) => indented(line, width));
}

function toolText({ tools, withheld }: { tools: readonly string[]; withheld: readonly string[] }): string {
  if (tools.length === 0) return "none";
  if (withheld.length === 0) return "all";
  return withheld.length < tools.length ? `all but ${withheld.join(", ")}` : tools.join(", ");
}

function gateLines({ gates }: Audit, style: Style, { width }: Options): string[] {
  if (gates.length === 0) return [style.dim("  no plugin checks calls; Aegis asks before agents change its settings")];
  const rows = gates.map((gate): Cell[] => [
    { text: gate.plugin, paint: style.cyan },
    { text: gate.hook },
    { text: gate.state, paint: gate.state === "active" ? style.green : style.red },
    { text: gate.reason ?? "" },
  ]);
  return table(style, ["PLUGIN", "HOOK", "STATE", "WHY"], rows, width);
}

function pluginLines({ plugins }: Audit, style: Style, { width }: Options): string[] {
  if (plugins.length === 0) return [];
  const rows = plugins.map((one): Cell[] => [
    { text: one.plugin, paint: style.cyan },
    { text: one.version },
    { text: one.status, paint: one.status === "loaded" ? style.green : style.yellow },
    { text: one.has_code ? "code" : "no code" },
    { text: one.tools.map(({ name, permission }) => `${name} (${permission})`).join(", ") || "-" },
  ]);
  return table(style, ["PLUGIN", "VERSION", "STATUS", "RUNS", "TOOLS"], rows, width);
}

function queueLines({ queues }: Audit, style: Style, { width }: Options): string[] {
  if (queues.length === 0) return [];
  const rows = queues.map(({ queue, agent, rights, producers }): Cell[] => [
    { text: queue, paint: style.cyan },
    { text: agent },
    { text: rights === "own" ? `its agent's, for ${producers.join(", ")}` : "the producer's" },
  ]);
  return table(style, ["QUEUE", "AGENT", "RIGHTS OF TASKS FROM AGENTS"], rows, width);
}

function networkLines({ network }: Audit, { width }: Options): string[] {
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
  ].flatMap((line) => indented(line, width));
}

function secretLines({ secrets }: Audit, { width }: Options): string[] {
  return secrets.flatMap(({ name, used_by }) => indented(`  ${name}: ${used_by.join(", ")}`, width));
}

function trustLines({ trust, state }: Audit, style: Style, { width }: Options): string[] {
  const since = state.since === null ? "" : `, since ${state.since.slice(0, 10)}`;
  const owner = [
    `  state: ${state.owner === "you" ? "yours" : state.owner}${since}${state.adopted ? ", adopted" : ""}`,
  ];
  const always = trust.always ? [style.yellow("  everything here is trusted, including future changes")] : [];
  const rows = trust.items.map((item): Cell[] => [
    { text: item.state, paint: item.state === "trusted" ? style.green : style.yellow },
    { text: `${item.kind} ${item.name}`, paint: style.cyan },
    { text: agreedText(item) },
    { text: item.what, paint: style.dim },
  ]);
  if (rows.length === 0 && always.length === 0) return [...owner, style.dim("  nothing in the project needs trust")];
  return [
    ...owner,
    ...always,
    ...(rows.length === 0 ? [] : table(style, ["STATE", "WHAT", "SINCE", "DOES"], rows, width)),
  ];
}

function agreedText({ state, since, by }: AuditTrust): string {
  if (since === null) return state === "trusted" ? "before 0.2" : "-";
  return `${since.slice(0, 16)}Z ${by ?? ""}`.trimEnd();
}

function findingLines(findings: readonly AuditFinding[], style: Style, { width }: Options): string[] {
  if (findings.length === 0) return [style.green("  no findings")];
  const paint = { high: style.red, medium: style.yellow, low: style.dim };
  return [
    ...findings.flatMap(({ level, subject, finding, fix }) => [
      ...indented(`  ${paint[level](level.padEnd(6))}  ${oneLine(subject)}: ${oneLine(finding)}`, width),
      ...indented(`          ${style.dim(`close it: ${oneLine(fix)}`)}`, width),
    ]),
    "",
    plural(findings.length, "finding"),
  ];
}

function table(style: Style, header: readonly string[], rows: readonly Cell[][], width: number): string[] {
  const cells = header.map((text): Cell => ({ text, paint: style.dim }));
  const safe = rows.map((row) => row.map((cell) => ({ ...cell, text: oneLine(cell.text) })));
  return columns(cells, safe, width - 2).map((line) => `  ${line}`);
}

/** Wraps long lines and never truncates them: the reader looks for problems here. */
function indented(line: string, width: number): string[] {
  const indent = /^ */.exec(line)?.[0] ?? "";
  return wrap(line.trimStart(), Math.max(20, width - indent.length - 2)).map((part, index) =>
    index === 0 ? `${indent}${part}` : `${indent}  ${part}`,
  );
}
