/** `aegis skill …`: lists the project's skills and their requirements, and creates new ones. */

import { relative, resolve } from "node:path";
import { findProjectRoot } from "../../../lib/daemon-file.ts";
import { homeOf } from "../../../lib/home.ts";
import { tableOptions } from "../../format/columns.ts";
import { checkTable, skillDetailLines, skillDiagnosticLine, skillTable } from "../../format/skill-table.ts";
import { plural } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { given } from "../../program/given.ts";
import { exitCodes } from "../../terminal/context.ts";
import { textArgument } from "../../terminal/input-text.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import type { skillCommands } from "./spec.ts";

export const skillList: Handler<typeof skillCommands.list> = async (cx, args) => {
  const answer = await cx.call("listSkills", { query: { ...given({ agent: args.agent }), all: String(args.all) } });
  const none = "no skills here; create one with: aegis skill new";
  cx.show(answer, () => (answer.skills.length === 0 ? none : skillTable(answer.skills, tableOptions(cx))));
  const { length } = answer.diagnostics;
  if (length > 0 && !cx.json)
    cx.warn(`${plural(length, "remark")} on the files; aegis skill check shows ${length === 1 ? "it" : "them"}`);
};

export const skillShow: Handler<typeof skillCommands.show> = async (cx, args) => {
  const { skill } = await cx.call("getSkill", { path: { skill: args.skill } });
  cx.show({ skill }, () => skillDetailLines(skill, { color: cx.color, cwd: cx.cwd }));
};

/** Exits with 1 if a file is invalid. An unmet requirement of a skill is not an error of its file. */
export const skillCheck: Handler<typeof skillCommands.check> = async (cx, args) => {
  const answer = await cx.call("listSkills", { query: { ...given({ agent: args.agent }), all: "true" } });
  const broken = answer.diagnostics.some((one) => one.level === "error");
  const { skills, characters, shortened, name_only, left_out } = answer.catalog;
  const cut = [
    shortened > 0 ? `${shortened} descriptions shortened` : "",
    name_only > 0 ? `${name_only} by name only` : "",
    left_out > 0 ? `${left_out} left out` : "",
  ].filter((part) => part !== "");
  const told = `agents see ${plural(skills, "skill")} in ${characters} characters`;
  cx.show(answer, () => [
    ...checkTable(answer.skills, tableOptions(cx)),
    ...answer.diagnostics.map((one) => skillDiagnosticLine(one, cx.cwd, cx.style)),
    cx.style.dim(cut.length === 0 ? told : `${told}: ${cut.join(", ")} (skills.catalog_chars)`),
  ]);
  return broken ? exitCodes.failed : exitCodes.ok;
};

export const skillSearch: Handler<typeof skillCommands.search> = async (cx, { words, agent, limit }) => {
  const answer = await cx.call("searchSkills", { query: { query: words.join(" "), ...given({ agent, limit }) } });
  const none = "no skill here matches; --registry searches for one to install";
  const lines = answer.skills.map(({ name, description }) => `${cx.style.cyan(name)}  ${description}`);
  cx.show(answer, lines.length === 0 ? none : lines);
};

export const skillValidate: Handler<typeof skillCommands.validate> = async (cx, args) => {
  const { validateSkills } = await import("../../../project/skills/edit.ts");
  const paths = args.paths.map((path) => resolve(cx.cwd, path));
  const { files, diagnostics } = await validateSkills(projectOf(cx), paths);
  const ok = !diagnostics.some((one) => one.level === "error");
  const lines = diagnostics.map((one) => skillDiagnosticLine(one, cx.cwd, cx.style));
  cx.show({ ok, diagnostics }, lines.length === 0 ? `${plural(files, "skill")}, no problems found` : lines);
  return ok ? exitCodes.ok : exitCodes.failed;
};

export const skillNew: Handler<typeof skillCommands.new> = async (cx, args) => {
  const { createSkill } = await import("../../../project/skills/edit.ts");
  if (args.description === undefined)
    throw usageError("the description is missing", "say with --description when to use the skill");
  const body = await textArgument(cx, args.body, "body");
  const { name, description, user } = args;
  const file = await createSkill(projectOf(cx), { name, description, body, user });
  cx.show({ skill: name, file }, `made ${name} (${relative(cx.cwd, file)})`);
};

function projectOf(cx: Terminal) {
  return { root: findProjectRoot(cx.cwd), home: homeOf(cx.env) };
}
