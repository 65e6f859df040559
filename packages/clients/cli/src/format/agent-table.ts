/** Agents as tables and lines. */
import { relative } from "node:path";
import type { AgentDetail, AgentDiagnostic, AgentSummary } from "@aegis/contract/agent.ts";
import { type Look, table } from "./columns.ts";
import type { Style } from "./style.ts";
import { oneLine } from "./text.ts";

export function agentTable(agents: readonly AgentSummary[], look: Look): string[] {
  const { style } = look;
  const lines = table(look, ["AGENT", "HARNESS", "MODEL", "RIGHTS", "FROM", "DESCRIPTION"], agents, (agent) => [
    { text: agent.default ? `${agent.slug} *` : agent.slug, paint: style.cyan },
    agent.offline ? `${agent.harness} (offline)` : agent.harness,
    agent.model ?? "-",
    agent.permission,
    agent.plugin === null ? agent.source : `plugin ${agent.plugin}`,
    agent.description,
  ]);
  return agents.some((agent) => agent.default) ? [...lines, style.dim("* the default agent")] : lines;
}

/** All details of one agent, with the reason why each tool is in or out. */
export function detailLines(agent: AgentDetail, look: Look & { cwd: string }): string[] {
  const { style } = look;
  const place = (path: string | null, source: string) => (path === null ? source : shortPath(path, look.cwd));
  // An agent named with its plugin may differ from the agent that the bare name resolves to.
  const own = agent.candidates.findIndex(({ plugin, source }) => plugin === agent.plugin && source === agent.source);
  const places = (some: AgentDetail["candidates"]) =>
    some.map((one) => `${one.source}, ${place(one.file_path, "no file")}`).join("; ") || null;
  const facts: [string, string | null][] = [
    ["description", oneLine(agent.description)],
    ["from", `${agent.source}, ${place(agent.file_path, "no file")}`],
    ["behind", places(agent.candidates.slice(0, own))],
    ["in front of", places(agent.candidates.slice(own + 1))],
    ["harness", agent.offline ? `${agent.harness} (offline)` : agent.harness],
    ["model", agent.model ?? "the harness's choice"],
    ["effort", agent.effort],
    ["temperature", agent.temperature === null ? null : String(agent.temperature)],
    ["turn limit", agent.max_turns === null ? null : `${agent.max_turns} model calls`],
    ["rights", agent.permission],
    ["skills", agent.skills?.join(", ") ?? null],
    ["mcp servers", mcpText(agent.mcp)],
    ["nodes", agent.nodes.length === 0 ? null : `with the labels ${agent.nodes.join(", ")}`],
    ["isolation", agent.isolation === "worktree" ? "each session works in its own git worktree" : null],
    ...reachRows(agent.reach),
    ["after crash", agent.on_crash === "fail" ? "interrupted work is reported, not repeated" : null],
    ["note", agent.scope_note],
  ];
  return [
    style.bold(agent.default ? `${agent.slug} (the default agent)` : agent.slug),
    ...facts.flatMap(([name, value]) => (value === null ? [] : [`${style.dim(name.padEnd(12))} ${value}`])),
    "",
    ...table(look, ["HAS", "TOOL", "KIND", "WHY"], agent.tools, (tool) => [
      { text: tool.allowed ? "yes" : "no", paint: tool.allowed ? style.green : style.dim },
      tool.name,
      tool.plugin === null ? tool.kind : `plugin ${tool.plugin}`,
      { text: tool.reason, paint: style.dim },
    ]),
    ...agent.diagnostics.map((one) => diagnosticLine(one, look.cwd, style)),
  ];
}

function reachRows({ level, from, write, read, hosts }: AgentDetail["reach"]): [string, string | null][] {
  const listed = (values: readonly string[]) => (level === "off" || values.length === 0 ? null : values.join(", "));
  const meaning = level === "off" ? "off: its programs reach all that you reach" : level;
  return [
    ["sandbox", `${meaning} (set by the ${from})`],
    ["may change", listed(write)],
    ["may read", listed(read)],
    ["connects to", listed(hosts)],
  ];
}

function mcpText(mcp: AgentDetail["mcp"]): string | null {
  if (mcp === "none" || mcp.length === 0) return null;
  return mcp === "inherit" ? "inherit: the servers of its harness and of .mcp.json" : mcp.join(", ");
}

export function diagnosticLine(one: AgentDiagnostic, cwd: string, style: Style): string {
  const where = one.file === null ? (one.agent ?? "") : shortPath(one.file, cwd);
  const owner = one.plugin === null ? "" : `plugin ${one.plugin}, agent ${one.agent ?? "?"}, `;
  const line = one.line === null ? "" : `:${one.line}`;
  const level = one.level === "error" ? style.red("error") : style.yellow("warning");
  return `${owner}${where}${line}: ${level}: ${oneLine(one.message)}`;
}

/** Relative to the current folder, so that a terminal can open it. */
export function shortPath(path: string, cwd: string): string {
  if (path.startsWith("<")) return path;
  const near = relative(cwd, path);
  return near.startsWith("..") || near === "" ? path : near;
}
