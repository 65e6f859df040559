/** `aegis agent …`: the agents of this project, where each comes from, and the files of one's own. */
import { homedir } from "node:os";
import { relative, resolve } from "node:path";
import type { AgentDetail, AgentDiagnostic } from "../../contract/agent.ts";
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { ensureDaemon } from "../connection.ts";
import { type CliContext, exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { agentTable, detailLines, diagnosticLine } from "../format/agent-table.ts";
import { createStyle } from "../format/style.ts";
import { plural } from "../format/text.ts";
import { textArgument } from "../input-text.ts";
import type { Terminal } from "../terminal.ts";

export async function agentList(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listAgents");
  if (cx.json) cx.printJson(answer);
  else {
    for (const line of agentTable(answer.agents, { color: cx.color, width: cx.columns })) cx.print(line);
    for (const one of answer.diagnostics) cx.warn(diagnosticLine(one, cx.cwd, createStyle(cx.color)));
  }
  return exitCodes.ok;
}

export async function agentShow(cx: Terminal, args: { agent: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { agent } = await client.call("getAgent", { path: { agent: args.agent } });
  if (cx.json) cx.printJson({ agent });
  else show(cx, agent);
  return exitCodes.ok;
}

/** The harnesses come from whoever knows the drivers. */
type Known = { harnesses: readonly string[] };

/** Options of `new` and `edit`; what is undefined stays as it is. */
export type AgentFieldArgs = {
  description: string | undefined;
  model: string | undefined;
  harness: string | undefined;
  effort: string | undefined;
  permission: string | undefined;
  temperature: string | undefined;
  tools: string | undefined;
  denyTools: string | undefined;
  prompt: string | undefined;
};

export async function agentNew(
  cx: Terminal,
  args: Known & AgentFieldArgs & { name: string; from: string | undefined; user: boolean },
): Promise<number> {
  const { createAgent, findAgent } = await import("../../daemon/agents/edit.ts");
  const project = projectOf(cx, args);
  const from = args.from === undefined ? null : await findAgent(project, args.from);
  const { name, user } = args;
  if (args.description === undefined && from === null)
    throw usageError("the description is missing", "say with --description what the agent is for");
  const prompt =
    args.prompt === undefined && from !== null
      ? from.prompt
      : await textArgument(cx, args.prompt, "prompt", "say with --prompt what it is to do, or pipe it in");
  const { editAsOwner } = await import("../../daemon/trust/agree.ts");
  const made = { name, user, fields: changesOf(args), prompt, from, now: new Date() };
  const written = await editAsOwner({ ...project, env: cx.env }, () => createAgent(project, made));
  return report(cx, "made", name, written);
}

export async function agentEdit(cx: Terminal, args: Known & AgentFieldArgs & { name: string }): Promise<number> {
  const { editAgent, findAgent } = await import("../../daemon/agents/edit.ts");
  const project = projectOf(cx, args);
  const { name } = args;
  const changes = changesOf(args);
  const prompt = args.prompt === undefined ? undefined : await textArgument(cx, args.prompt, "prompt");
  if (prompt === undefined && Object.values(changes).every((value) => value === undefined)) {
    const { file } = await findAgent(project, name);
    throw usageError("nothing to change was given", `use the options, or edit ${file ?? name} yourself`);
  }
  const { editAsOwner } = await import("../../daemon/trust/agree.ts");
  const change = { name, changes, prompt, now: new Date() };
  const written = await editAsOwner({ ...project, env: cx.env }, () => editAgent(project, change));
  return report(cx, "changed", name, written);
}

/** Exit code 1 when any file cannot be used. */
export async function agentValidate(cx: Terminal, args: Known & { files: readonly string[] }): Promise<number> {
  const { validateAgentFile, validateAllAgents } = await import("../../daemon/agents/edit.ts");
  const project = projectOf(cx, args);
  const found: AgentDiagnostic[] = [];
  let count = args.files.length;
  if (args.files.length > 0)
    for (const file of args.files) found.push(...(await validateAgentFile(project, resolve(cx.cwd, file))));
  else {
    const { files, diagnostics } = await validateAllAgents(project);
    found.push(...diagnostics);
    count = files;
  }
  const ok = !found.some((one) => one.level === "error");
  if (cx.json) cx.printJson({ ok, diagnostics: found });
  else {
    for (const one of found) cx.print(diagnosticLine(one, cx.cwd, createStyle(cx.color)));
    if (found.length === 0) cx.print(`${plural(count, "agent file")}, nothing to complain about`);
  }
  return ok ? exitCodes.ok : exitCodes.failed;
}

function projectOf(cx: CliContext, { harnesses }: Known) {
  return { root: findProjectRoot(cx.cwd), home: cx.env.HOME ?? homedir(), harnesses };
}

/** An empty value removes the field. */
function changesOf(args: AgentFieldArgs) {
  const text = (value: string | undefined) => (value === "" ? null : value);
  const list = (value: string | undefined) =>
    value === undefined || value === "" ? text(value) : value.split(/,(?![^()]*\))/).map((item) => item.trim());
  return {
    description: args.description,
    model: text(args.model),
    harness: text(args.harness),
    reasoning_effort: text(args.effort),
    permission: text(args.permission),
    temperature: args.temperature === "" ? null : temperatureOf(args.temperature),
    tools: args.tools === "none" ? ("none" as const) : (list(args.tools) as string[] | null | undefined),
    deny_tools: list(args.denyTools) as string[] | null | undefined,
  };
}

function temperatureOf(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw usageError(`--temperature ${value}: expected a number from 0 to 2`);
}

function report(
  cx: CliContext,
  done: string,
  name: string,
  written: { file: string; diagnostics: AgentDiagnostic[] },
): number {
  if (cx.json) cx.printJson({ agent: name, ...written });
  else cx.print(`${done} ${name} (${relative(cx.cwd, written.file)})`);
  for (const one of written.diagnostics) cx.warn(diagnosticLine(one, cx.cwd, createStyle(cx.color)));
  return exitCodes.ok;
}

function show(cx: CliContext, agent: AgentDetail): void {
  for (const line of detailLines(agent, { color: cx.color, width: cx.columns, cwd: cx.cwd })) cx.print(line);
}
