/** A fetched skill and the findings of its scan, as lines. */
import type { FetchedSkill, InstallOutcome, SkillFinding } from "@aegis/contract/skill-install.ts";
import type { Style } from "./style.ts";
import { bytes, oneLine, plural } from "./text.ts";

export function findingLines(findings: readonly SkillFinding[], style: Style): string[] {
  const paint = { malicious: style.red, suspicious: style.yellow, note: style.dim };
  return findings.flatMap(({ severity, file, line, message, rule, excerpt, quoted }) => {
    const place = file === null ? "" : `${file}${line === null ? "" : `:${line}`} `;
    const head = `  ${paint[severity](severity)} ${oneLine(place)}${place === "" ? "" : " "}${message} ${style.dim(`(${rule}${quoted === true ? ", quoted" : ""})`)}`;
    return excerpt === "" ? [head] : [head, style.dim(`      ${oneLine(excerpt)}`)];
  });
}

export function fetchedLine({ name, version, commit, source, files, bytes: size }: FetchedSkill, style: Style): string {
  const what = version ?? commit?.slice(0, 10) ?? null;
  const label = `${style.cyan(oneLine(name))}${what === null ? "" : ` ${oneLine(what)}`}`;
  return `${label} from ${oneLine(source)} (${plural(files, "file")}, ${bytes(size)})`;
}

export function outcomeLine({ outcome, skill }: InstallOutcome, style: Style): string {
  const words = {
    installed: `installed ${fetchedLine(skill, style)} in ${skill.folder}`,
    updated: `updated ${fetchedLine(skill, style)} in ${skill.folder}`,
    unchanged: `${fetchedLine(skill, style)} is already installed`,
    consent: `not installed: ${fetchedLine(skill, style)}`,
  };
  return words[outcome];
}
