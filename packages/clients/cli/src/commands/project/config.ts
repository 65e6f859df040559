/** `aegis config …`: shows and edits the project files, with or without a daemon. */
import { join, relative } from "node:path";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { stringify } from "yaml";
import { table } from "../../format/columns.ts";
import type { Args } from "../../program/command.ts";
import { given } from "../../program/given.ts";
import { type CliContext, exitCodes } from "../../terminal/context.ts";
import { checkGiven } from "../queue/check-given.ts";
import type { configCommands } from "./config-spec.ts";
import { ignoreInGit } from "./git-ignore.ts";
import { type Project, projectOf } from "./project-of.ts";

export async function configShow(cx: CliContext): Promise<number> {
  const { loadConfig } = await import("@aegis/project/config/load.ts");
  const { shownConfig } = await import("@aegis/project/config/keys.ts");
  const { harnesses } = await projectOf(cx);
  const { root, files, config, problems } = await loadConfig({ cwd: cx.cwd, harnesses });
  const shown = config === null ? null : await shownConfig({ root, env: cx.env }, config);
  cx.show({ root, files, config: shown, problems }, () => {
    cx.print(`# project: ${root}`);
    for (const file of files) cx.print(`# from: ${relative(root, file)}`);
    if (files.length === 0) cx.print("# no files: everything below is a default");
    if (shown !== null) cx.write(toYaml(shown));
  });
  if (shown !== null) return exitCodes.ok;
  for (const line of await problemLines(cx, root, problems)) cx.warn(line);
  return exitCodes.usage;
}

export async function configGet(cx: CliContext, args: Args<typeof configCommands.get>): Promise<number> {
  const { readKey } = await import("@aegis/project/config/keys.ts");
  const config = await load(cx);
  const value = await readKey(await projectOf(cx), config, args.key);
  if (cx.json) cx.printJson(value ?? null);
  else if (typeof value === "object" && value !== null) cx.write(toYaml(value));
  else cx.print(value === undefined || value === null ? "" : String(value));
  return exitCodes.ok;
}

export async function configSet(cx: CliContext, args: Args<typeof configCommands.set>): Promise<number> {
  const { setValue } = await import("@aegis/project/config/changes.ts");
  const { planChange } = await import("@aegis/project/config/keys.ts");
  const project = await projectOf(cx);
  const plan = await planChange(project, { key: args.key, text: args.value, local: args.local });
  const { path, value, local, secrets } = plan;
  const code = await edit(cx, `set ${args.key}`, (at) => setValue(at, path, value, { local }));
  if (secrets.length > 0) {
    cx.warn(
      `${secrets.join(", ")}: a secret, so it was written to .aegis.local.yaml, which only you can read and git ignores`,
    );
    for (const file of plan.sharedIn)
      cx.warn(`${file} also has a value for ${args.key}: remove it, and change the secret if others have seen it`);
  }
  if (local && code === exitCodes.ok) {
    const ignored = await ignoreInGit(project.root);
    if (ignored.length > 0) cx.warn(`added to .gitignore: ${ignored.join(", ")}`);
  }
  if (plan.isOverridden) cx.warn(`.aegis.local.yaml also sets ${args.key} and overrides it on this machine`);
  return code;
}

export async function configDefaultAgent(
  cx: CliContext,
  args: Args<typeof configCommands.defaultAgent>,
): Promise<number> {
  const { setValue } = await import("@aegis/project/config/changes.ts");
  return edit(cx, `the default agent is now ${args.slug}`, (at) => setValue(at, ["default_agent"], args.slug));
}

export async function configAgentAdd(cx: CliContext, args: Args<typeof configCommands.agentAdd>): Promise<number> {
  const { addEntry } = await import("@aegis/project/config/changes.ts");
  const { slug, ...fields } = args;
  const entry = given(fields);
  return edit(cx, `added agent ${slug}`, (at) => addEntry(at, "agents", slug, entry));
}

export async function configAgentRemove(
  cx: CliContext,
  args: Args<typeof configCommands.agentRemove>,
): Promise<number> {
  const { removeEntry } = await import("@aegis/project/config/changes.ts");
  return edit(cx, `removed agent ${args.slug}`, (at) => removeEntry(at, "agents", args.slug));
}

export async function configAgentList(cx: CliContext): Promise<number> {
  const { shownConfig } = await import("@aegis/project/config/keys.ts");
  const config = await shownConfig(await projectOf(cx), await load(cx));
  const agents = Object.entries(config.agents).map(([slug, agent]) => ({
    slug,
    ...agent,
    default: slug === config.default_agent,
  }));
  cx.show({ agents }, () => {
    if (agents.length === 0) return ["No agents are declared. Add one with: aegis config agent add"];
    return table(cx, ["AGENT", "HARNESS", "MODEL", "EFFORT", "RIGHTS", "DESCRIPTION"], agents, (agent) => [
      agent.default ? `${agent.slug} *` : agent.slug,
      agent.harness ?? `(${agent.extends})`,
      agent.model ?? "-",
      agent.effort ?? "-",
      agent.permission ?? "-",
      agent.description,
    ]);
  });
  return exitCodes.ok;
}

export async function configQueueAdd(cx: CliContext, args: Args<typeof configCommands.queueAdd>): Promise<number> {
  const { addEntry } = await import("@aegis/project/config/changes.ts");
  const entry = given({ agent: args.agent, max_parallel: args.maxParallel, ...checkGiven(args) });
  return edit(cx, `added queue ${args.name}`, (at) => addEntry(at, "queues", args.name, entry));
}

export async function configQueueRemove(
  cx: CliContext,
  args: Args<typeof configCommands.queueRemove>,
): Promise<number> {
  const { removeEntry } = await import("@aegis/project/config/changes.ts");
  return edit(cx, `removed queue ${args.name}`, (at) => removeEntry(at, "queues", args.name));
}

export async function configQueueList(cx: CliContext): Promise<number> {
  const config = await load(cx);
  const queues = Object.entries(config.queues).map(([name, queue]) => ({ name, ...queue }));
  cx.show({ queues }, () => {
    if (queues.length === 0) return ["No queues are declared. Add one with: aegis config queue add"];
    return table(cx, ["QUEUE", "AGENT", "PARALLEL"], queues, (queue) => [
      queue.name,
      queue.agent,
      String(queue.max_parallel),
    ]);
  });
  return exitCodes.ok;
}

export async function configPluginDirAdd(
  cx: CliContext,
  args: Args<typeof configCommands.pluginDirAdd>,
): Promise<number> {
  const { addPluginDir } = await import("@aegis/project/config/changes.ts");
  return edit(cx, `plugins are now also loaded from ${args.path}`, (at) => addPluginDir(at, args.path));
}

export async function configPluginDirRemove(
  cx: CliContext,
  args: Args<typeof configCommands.pluginDirRemove>,
): Promise<number> {
  const { removePluginDir } = await import("@aegis/project/config/changes.ts");
  return edit(cx, `plugins are no longer loaded from ${args.path}`, (at) => removePluginDir(at, args.path));
}

type Problem = { file: string; line: number; column: number; key: string; message: string };

async function load(cx: CliContext) {
  const { loadConfig } = await import("@aegis/project/config/load.ts");
  const { harnesses } = await projectOf(cx);
  const { root, config, problems } = await loadConfig({ cwd: cx.cwd, harnesses });
  if (config !== null) return config;
  throw await wrong(cx, root, "the configuration has problems:", problems);
}

async function edit(
  cx: CliContext,
  done: string,
  change: (at: Project) => Promise<{ file: string; changed: boolean }>,
): Promise<number> {
  const at = await projectOf(cx);
  const { problemsOf } = await import("@aegis/project/config/problem.ts");
  try {
    const { editAsOwner } = await import("@aegis/project/trust/agree.ts");
    const { file, changed } = await editAsOwner(at, () => change(at));
    cx.show(
      { ok: true, file: join(at.root, file), changed },
      changed ? `${done} (${relative(cx.cwd, join(at.root, file))})` : `nothing to change: ${done}`,
    );
    return exitCodes.ok;
  } catch (error) {
    const problems = isAegisError(error) ? problemsOf(error) : [];
    if (problems.length === 0) throw error;
    throw await wrong(cx, at.root, "nothing was changed, because the configuration would be invalid:", problems);
  }
}

async function wrong(cx: CliContext, root: string, what: string, problems: readonly Problem[]): Promise<AegisError> {
  const lines = await problemLines(cx, root, problems);
  return new AegisError("invalid", [what, ...lines.map((line) => `  ${line}`)].join("\n"), { details: { problems } });
}

/** Prints paths relative to the current folder, so that a terminal can open them. */
async function problemLines(cx: CliContext, root: string, problems: readonly Problem[]): Promise<string[]> {
  const { formatProblem } = await import("@aegis/project/config/problem.ts");
  return problems.map((problem) => formatProblem({ ...problem, file: relative(cx.cwd, join(root, problem.file)) }));
}

function toYaml(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
