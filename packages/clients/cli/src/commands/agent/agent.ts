/** `aegis agent …`: lists the project's agents and their sources, and edits the user's agent files. */
import { relative, resolve } from "node:path";
import type { AgentDiagnostic, AgentSeed } from "@aegis/contract/agent.ts";
import type { Harness } from "@aegis/contract/api.ts";
import { type AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { agentTable, detailLines, diagnosticLine } from "../../format/agent-table.ts";
import { type Look, table } from "../../format/columns.ts";
import { plural } from "../../format/text.ts";
import type { Args, Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { type CliContext, exitCodes } from "../../terminal/context.ts";
import { textArgument } from "../../terminal/input-text.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { type Project, projectOf } from "../project/project-of.ts";
import type { sessionCommands } from "../session/spec.ts";
import type { agentCommands } from "./spec.ts";

export const agentList: Handler<typeof agentCommands.list> = async (cx) => {
  const answer = await cx.call("listAgents");
  cx.show(answer, () => {
    cx.tell(agentTable(answer.agents, cx));
    for (const one of answer.diagnostics) cx.warn(diagnosticLine(one, cx.cwd, cx.style));
  });
};

export const agentShow: Handler<typeof agentCommands.show> = async (cx, args) => {
  const { agent } = await cx.call("getAgent", { path: { agent: args.agent } });
  cx.show({ agent }, () => detailLines(agent, cx));
};

export const agentNew: Handler<typeof agentCommands.new> = async (cx, args) => {
  const { createAgent } = await import("@aegis/project/agents/edit.ts");
  const project = await projectOf(cx);
  const from = args.from === undefined ? null : await seedFrom(cx, project, args.from);
  const { name, user } = args;
  if (args.description === undefined && from === null)
    throw usageError("the description is missing", "describe the agent's purpose with --description");
  const prompt =
    args.prompt === undefined && from !== null
      ? from.prompt
      : await textArgument(cx, args.prompt, "prompt", "give its instructions with --prompt, or pipe them in");
  const { editAsOwner } = await import("@aegis/project/trust/agree.ts");
  const made = { name, user, fields: changesOf(args), prompt, from, now: new Date() };
  const written = await editAsOwner(project, () => createAgent(project, made));
  return report(cx, "made", name, written);
};

/** Reads an agent from its file; agents of plugins and of the configuration come from the daemon. */
async function seedFrom(cx: Terminal, project: Project, name: string): Promise<AgentSeed> {
  const { findAgent } = await import("@aegis/project/agents/edit.ts");
  let unknown: AegisError | null = null;
  if (!name.includes(":")) {
    try {
      return await findAgent(project, name);
    } catch (error) {
      if (!isAegisError(error) || error.code !== "not_found") throw error;
      unknown = error;
    }
  }
  const { client } = await cx.daemon();
  const { agent } = await client.call("getAgent", { path: { agent: name } }).catch((error: unknown) => {
    throw unknown ?? error;
  });
  const { description, prompt, temperature, skills } = agent;
  return { description, prompt, temperature, skills, ...agent.declared };
}

export const agentEdit: Handler<typeof agentCommands.edit> = async (cx, args) => {
  const { editAgent, findAgent } = await import("@aegis/project/agents/edit.ts");
  const project = await projectOf(cx);
  const { name } = args;
  const changes = changesOf(args);
  const prompt = args.prompt === undefined ? undefined : await textArgument(cx, args.prompt, "prompt");
  if (prompt === undefined && Object.values(changes).every((value) => value === undefined)) {
    const { file } = await findAgent(project, name);
    throw usageError("no change was given", `use the options, or edit ${file ?? name} yourself`);
  }
  const { editAsOwner } = await import("@aegis/project/trust/agree.ts");
  const change = { name, changes, prompt, now: new Date() };
  const written = await editAsOwner(project, () => editAgent(project, change));
  return report(cx, "changed", name, written);
};

/** Exits with 1 if any file is invalid. */
export const agentValidate: Handler<typeof agentCommands.validate> = async (cx, args) => {
  const { validateAgentFile, validateAllAgents } = await import("@aegis/project/agents/edit.ts");
  const project = await projectOf(cx);
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
  cx.show({ ok, diagnostics: found }, () => {
    for (const one of found) cx.print(diagnosticLine(one, cx.cwd, cx.style));
    if (found.length === 0) cx.print(`${plural(count, "agent file")}, no problems found`);
  });
  return ok ? exitCodes.ok : exitCodes.failed;
};

/** An empty value removes the field. */
function changesOf(args: Args<typeof agentCommands.edit>) {
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

function report(cx: CliContext, done: string, name: string, written: { file: string; diagnostics: AgentDiagnostic[] }) {
  cx.show({ agent: name, ...written }, `${done} ${name} (${relative(cx.cwd, written.file)})`);
  for (const one of written.diagnostics) cx.warn(diagnosticLine(one, cx.cwd, cx.style));
}

/** `aegis agents`: also lists the harnesses installed on this machine. */
export const agents: Handler<typeof sessionCommands.agents> = async (cx) => {
  const { client } = await cx.daemon();
  const [known, { harnesses }] = await Promise.all([client.call("listAgents"), client.call("listHarnesses")]);
  cx.show({ ...known, harnesses }, () => {
    cx.tell(agentTable(known.agents, cx));
    for (const one of known.diagnostics) cx.warn(diagnosticLine(one, cx.cwd, cx.style));
    return ["", ...harnessLines(harnesses, cx)];
  });
};

function harnessLines(harnesses: readonly Harness[], look: Look): string[] {
  const { style } = look;
  const present = harnesses.filter(({ status }) => status !== "missing");
  const missing = harnesses.filter(({ status }) => status === "missing").map(({ harness }) => harness);
  const rest =
    missing.length === 0
      ? []
      : [style.dim(`not installed: ${missing.join(", ")}; aegis doctor explains how to install them`)];
  return [
    ...table(look, ["HARNESS", "STATE", "VERSION", "FOUND"], present, ({ harness, status, version, path, detail }) => [
      { text: harness, paint: style.cyan },
      { text: status, paint: status === "ready" ? style.green : style.red },
      version ?? "-",
      status === "ready" ? (path ?? detail) : detail,
    ]),
    ...rest,
  ];
}
