/** Skills as tables and lines. */
import type { SkillDetail, SkillDiagnostic, SkillView } from "../../contract/skill.ts";
import { shortPath } from "./agent-table.ts";
import { type Cell, columns, heading } from "./columns.ts";
import { createStyle, type Style } from "./style.ts";
import { oneLine } from "./text.ts";

type TableOptions = { color: boolean; width: number };

export function skillTable(skills: readonly SkillView[], options: TableOptions): string[] {
  const style = createStyle(options.color);
  const header = heading(style, ["SKILL", "FROM", "CALLED BY", "DESCRIPTION"]);
  const rows = skills.map((skill): Cell[] => [
    { text: skill.name, paint: skill.eligible ? style.cyan : style.dim },
    { text: fromOf(skill) },
    { text: callersOf(skill) },
    { text: oneLine(skill.description) },
  ]);
  return columns(header, rows, options.width);
}

export function checkTable(skills: readonly SkillView[], options: TableOptions): string[] {
  const style = createStyle(options.color);
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
  return columns(heading(style, ["USABLE", "SKILL", "FROM", "WHY NOT"]), rows, options.width);
}

export function skillDetailLines(skill: SkillDetail, options: { color: boolean; cwd: string }): string[] {
  const style = createStyle(options.color);
  const place = (file: string | null) => (file === null ? "no file" : shortPath(file, options.cwd));
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
    ...skill.diagnostics.map((one) => skillDiagnosticLine(one, options.cwd, style)),
    "",
    skill.body.trimEnd(),
  ];
}

export function skillDiagnosticLine(one: SkillDiagnostic, cwd: string, style: Style): string {
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
