/** `aegis skill …`: the skills of this project, what each needs, and pages of one's own. */
import { homedir } from "node:os";
import { relative, resolve } from "node:path";
import type { SkillDiagnostic } from "../../contract/skill.ts";
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { checkTable, skillDetailLines, skillDiagnosticLine, skillTable } from "../format/skill-table.ts";
import { createStyle } from "../format/style.ts";
import { plural } from "../format/text.ts";
import { textArgument } from "../input-text.ts";
import type { Terminal } from "../terminal.ts";

type OfAgent = { agent: string | undefined };

export async function skillList(cx: Terminal, args: OfAgent & { all: boolean }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listSkills", { query: { ...agentQuery(args), all: String(args.all) } });
  if (cx.json) {
    cx.printJson(answer);
    return exitCodes.ok;
  }
  if (answer.skills.length === 0) cx.print("no skills here; aegis skill new writes one");
  else for (const line of skillTable(answer.skills, { color: cx.color, width: cx.columns })) cx.print(line);
  const { length } = answer.diagnostics;
  if (length > 0)
    cx.warn(`${plural(length, "remark")} on the files; aegis skill check shows ${length === 1 ? "it" : "them"}`);
  return exitCodes.ok;
}

export async function skillShow(cx: Terminal, args: { skill: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { skill } = await client.call("getSkill", { path: { skill: args.skill } });
  if (cx.json) cx.printJson({ skill });
  else for (const line of skillDetailLines(skill, { color: cx.color, cwd: cx.cwd })) cx.print(line);
  return exitCodes.ok;
}

/** Exit code 1 when a file cannot be used; a skill that needs what is not here is no fault of its file. */
export async function skillCheck(cx: Terminal, args: OfAgent): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listSkills", { query: { ...agentQuery(args), all: "true" } });
  const broken = answer.diagnostics.some((one) => one.level === "error");
  if (cx.json) {
    cx.printJson(answer);
    return broken ? exitCodes.failed : exitCodes.ok;
  }
  const style = createStyle(cx.color);
  for (const line of checkTable(answer.skills, { color: cx.color, width: cx.columns })) cx.print(line);
  for (const one of answer.diagnostics) cx.print(skillDiagnosticLine(one, cx.cwd, style));
  const { skills, characters, shortened, name_only, left_out } = answer.catalog;
  const cut = [
    shortened > 0 ? `${shortened} descriptions shortened` : "",
    name_only > 0 ? `${name_only} by name only` : "",
    left_out > 0 ? `${left_out} left out` : "",
  ].filter((part) => part !== "");
  const told = `agents are told of ${plural(skills, "skill")} in ${characters} characters`;
  cx.print(style.dim(cut.length === 0 ? told : `${told}: ${cut.join(", ")} (skills.catalog_chars)`));
  return broken ? exitCodes.failed : exitCodes.ok;
}

export async function skillSearch(
  cx: Terminal,
  args: OfAgent & { words: readonly string[]; limit: number | undefined },
): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const limit = args.limit === undefined ? {} : { limit: args.limit };
  const answer = await client.call("searchSkills", {
    query: { query: args.words.join(" "), ...agentQuery(args), ...limit },
  });
  if (cx.json) cx.printJson(answer);
  else if (answer.skills.length === 0) cx.print("no skill here is about that; --registry looks for one to install");
  else {
    const style = createStyle(cx.color);
    for (const { name, description } of answer.skills) cx.print(`${style.cyan(name)}  ${description}`);
  }
  return exitCodes.ok;
}

export async function skillValidate(cx: Terminal, args: { paths: readonly string[] }): Promise<number> {
  const { validateSkills } = await import("../../daemon/skills/edit.ts");
  const paths = args.paths.map((path) => resolve(cx.cwd, path));
  const { files, diagnostics } = await validateSkills(projectOf(cx), paths);
  return reportPages(cx, files, diagnostics);
}

export async function skillNew(
  cx: Terminal,
  args: { name: string; description: string | undefined; body: string | undefined; user: boolean },
): Promise<number> {
  const { createSkill } = await import("../../daemon/skills/edit.ts");
  if (args.description === undefined)
    throw usageError("the description is missing", "say with --description when the skill is of use");
  const body = await textArgument(cx, args.body, "body");
  const { name, description, user } = args;
  const file = await createSkill(projectOf(cx), { name, description, body, user });
  if (cx.json) cx.printJson({ skill: name, file });
  else cx.print(`made ${name} (${relative(cx.cwd, file)})`);
  return exitCodes.ok;
}

function reportPages(cx: Terminal, files: number, diagnostics: SkillDiagnostic[]): number {
  const ok = !diagnostics.some((one) => one.level === "error");
  if (cx.json) cx.printJson({ ok, diagnostics });
  else {
    for (const one of diagnostics) cx.print(skillDiagnosticLine(one, cx.cwd, createStyle(cx.color)));
    if (diagnostics.length === 0) cx.print(`${plural(files, "skill")}, nothing to complain about`);
  }
  return ok ? exitCodes.ok : exitCodes.failed;
}

function projectOf(cx: Terminal) {
  return { root: findProjectRoot(cx.cwd), home: cx.env.HOME ?? homedir() };
}

function agentQuery({ agent }: OfAgent): { agent?: string } {
  return agent === undefined ? {} : { agent };
}
