/** `aegis skill …`: lists the project's skills and their requirements, and creates new ones. */
import { relative, resolve } from "node:path";
import type { SkillDetail, SkillDiagnostic, SkillView } from "@aegis/contract/skill.ts";
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { shortPath } from "../../format/agent-table.ts";
import { type Cell, columns, heading, type Look, table } from "../../format/columns.ts";
import type { Style } from "../../format/style.ts";
import { oneLine, plural } from "../../format/text.ts";
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
  cx.show(answer, () => (answer.skills.length === 0 ? none : skillTable(answer.skills, cx)));
  const { length } = answer.diagnostics;
  if (length > 0 && !cx.json)
    cx.warn(`${plural(length, "remark")} on the files; aegis skill check shows ${length === 1 ? "it" : "them"}`);
};

export const skillShow: Handler<typeof skillCommands.show> = async (cx, args) => {
  const { skill } = await cx.call("getSkill", { path: { skill: args.skill } });
  cx.show({ skill }, () => skillDetailLines(skill, cx));
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
    ...checkTable(answer.skills, cx),
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
  const { validateSkills } = await import("@aegis/project/skills/edit.ts");
  const paths = args.paths.map((path) => resolve(cx.cwd, path));
  const { files, diagnostics } = await validateSkills(projectOf(cx), paths);
  const ok = !diagnostics.some((one) => one.level === "error");
  const lines = diagnostics.map((one) => skillDiagnosticLine(one, cx.cwd, cx.style));
  cx.show({ ok, diagnostics }, lines.length === 0 ? `${plural(files, "skill")}, no problems found` : lines);
  return ok ? exitCodes.ok : exitCodes.failed;
};

export const skillNew: Handler<typeof skillCommands.new> = async (cx, args) => {
  const { createSkill } = await import("@aegis/project/skills/edit.ts");
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

function skillTable(skills: readonly SkillView[], look: Look): string[] {
  const { style } = look;
  return table(look, ["SKILL", "FROM", "CALLED BY", "DESCRIPTION"], skills, (skill) => [
    { text: skill.name, paint: skill.eligible ? style.cyan : style.dim },
    fromOf(skill),
    callersOf(skill),
    oneLine(skill.description),
  ]);
}

function checkTable(skills: readonly SkillView[], look: Look): string[] {
  const { style } = look;
  const rows = skills.flatMap((skill): Cell[][] => {
    const [first = "", ...more] = [...skill.missing, ...skill.notes];
    const reason = (text: string): Cell => ({ text, paint: skill.eligible ? style.dim : (shown) => shown });
    const usable = { text: skill.eligible ? "yes" : "no", paint: skill.eligible ? style.green : style.red };
    return [
      [usable, { text: skill.name }, { text: fromOf(skill) }, reason(first)],
      // List every reason, one per row, so that the user can fix all of them at once.
      ...more.map((text): Cell[] => [{ text: "" }, { text: "" }, { text: "" }, reason(text)]),
    ];
  });
  return columns(heading(style, ["USABLE", "SKILL", "FROM", "WHY NOT"]), rows, look.columns);
}

function skillDetailLines(skill: SkillDetail, look: { style: Style; cwd: string }): string[] {
  const { style } = look;
  const place = (file: string | null) => (file === null ? "no file" : shortPath(file, look.cwd));
  const hint = skill.argument_hint === null ? "" : ` ${skill.argument_hint}`;
  const facts: [string, string][] = [
    ["description", oneLine(skill.description)],
    ["from", `${fromOf(skill)}, ${place(skill.file)}`],
    ["in front of", skill.hides.map((one) => `${one.source}, ${place(one.file)}`).join("; ")],
    ["usable", skill.eligible ? "yes" : `no: ${skill.missing.join("; ")}`],
    ["note", skill.notes.join("; ")],
    ["called", skill.user_invocable ? `/${skill.command}${hint}` : "by agents only"],
    ["runs in", skill.context === "fork" ? "a subagent" : ""],
    ["agent", skill.agent ?? ""],
    ["may use", skill.allowed_tools.join(", ")],
    ["homepage", skill.homepage ?? ""],
    ["license", skill.license ?? ""],
    ["files", filesOf(skill)],
  ];
  return [
    style.bold(skill.name),
    ...facts.flatMap(([name, value]) => (value === "" ? [] : [`${style.dim(name.padEnd(12))} ${value}`])),
    ...skill.diagnostics.map((one) => skillDiagnosticLine(one, look.cwd, style)),
    "",
    skill.body.trimEnd(),
  ];
}

function skillDiagnosticLine(one: SkillDiagnostic, cwd: string, style: Style): string {
  const where = one.file === null ? (one.skill ?? "skills") : shortPath(one.file, cwd);
  const line = one.line === null ? "" : `:${one.line}`;
  const level = one.level === "error" ? style.red("error") : style.yellow("warning");
  return `${where}${line}: ${level}: ${oneLine(one.message)}`;
}

function fromOf(skill: SkillView): string {
  return skill.plugin === null ? skill.source : `plugin ${skill.plugin}`;
}

function callersOf({ user_invocable, model_invocable }: SkillView): string {
  if (!user_invocable) return model_invocable ? "agents" : "none";
  return model_invocable ? "all" : "people";
}

function filesOf({ resources, resources_left_out }: SkillDetail): string {
  return resources_left_out > 0 ? `${resources.join(", ")} and ${resources_left_out} more` : resources.join(", ");
}
