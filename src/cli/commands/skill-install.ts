/** `aegis skill install …`: skills from elsewhere, and what becomes of them. */
import type { InstalledSkillView, InstallOutcome } from "../../contract/skill-install.ts";
import { confirm } from "../confirm.ts";
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { usageError } from "../failure.ts";
import { type Cell, columns } from "../format/columns.ts";
import { fetchedLine, findingLines, outcomeLine } from "../format/skill-findings.ts";
import { createStyle } from "../format/style.ts";
import { oneLine } from "../format/text.ts";
import { type Attempt, absoluteSource, refusedFindings, withConsent } from "../install-skill.ts";
import type { Terminal } from "../terminal.ts";

type Choices = { user: boolean; yes: boolean; force: boolean };

export type InstallArgs = Choices & { skill: string; from: string | undefined };

export async function skillInstall(cx: Terminal, args: InstallArgs): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const source = absoluteSource(args.from ?? args.skill, cx);
  const body = {
    source,
    scope: scopeOf(args),
    force: args.force,
    ...(args.from === undefined ? {} : { name: args.skill }),
  };
  cx.warn(createStyle(cx.color).dim(`fetching ${source} …`));
  const result = await attempt(cx, args, (accept) => client.call("installSkill", { body: { ...body, ...accept } }));
  if (cx.json) cx.printJson(result);
  else printOutcome(cx, result);
  return codeOf(result);
}

/** All of them when none is named. One that cannot be updated does not keep the others from it. */
export async function skillUpdate(cx: Terminal, args: Choices & { skills: readonly string[] }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { skills: installed } = await client.call("listInstalledSkills");
  const scope = scopeOf(args);
  const names =
    args.skills.length > 0 ? args.skills : installed.filter((one) => one.scope === scope).map((one) => one.name);
  if (names.length === 0 && !cx.json) cx.print("no skill was installed here");
  const results: (InstallOutcome | { outcome: "failed"; name: string; error: string })[] = [];
  for (const name of names) {
    cx.warn(createStyle(cx.color).dim(`looking for ${name} …`));
    try {
      const body = { scope, force: args.force };
      const result = await attempt(cx, args, (accept) =>
        client.call("updateSkill", { path: { skill: name }, body: { ...body, ...accept } }),
      );
      results.push(result);
      if (!cx.json) printOutcome(cx, result);
    } catch (error) {
      if (names.length === 1) throw error;
      const message = error instanceof Error ? error.message : String(error);
      results.push({ outcome: "failed", name, error: message });
      if (!cx.json) cx.warn(`aegis: ${message}`);
    }
  }
  if (cx.json) cx.printJson({ results });
  return results.every(({ outcome }) => outcome !== "failed" && outcome !== "consent")
    ? exitCodes.ok
    : exitCodes.failed;
}

export async function skillRemove(cx: Terminal, args: Choices & { skill: string }): Promise<number> {
  if (!args.yes) {
    if (!cx.interactive) throw usageError(`removing ${args.skill} needs a yes`, "say it with --yes");
    if (!(await confirm(cx, `Remove the skill ${args.skill}?`))) return exitCodes.failed;
  }
  const { client } = await ensureDaemon(cx);
  const query = { scope: scopeOf(args), force: args.force };
  const answer = await client.call("removeSkill", { path: { skill: args.skill }, query });
  if (cx.json) cx.printJson(answer);
  else cx.print(`removed ${oneLine(answer.removed.name)} (${answer.removed.folder})`);
  return exitCodes.ok;
}

export async function skillInstalled(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listInstalledSkills");
  if (cx.json) cx.printJson(answer);
  else if (answer.skills.length === 0) cx.print("no skill was installed here; aegis skill install <skill> does it");
  else for (const line of installedTable(answer.skills, cx)) cx.print(line);
  return exitCodes.ok;
}

/** Exit code 1 when the registry holds it to be malicious. */
export async function skillInfo(cx: Terminal, args: { skill: string }): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const { skill } = await client.call("getRegistrySkill", { query: { skill: args.skill } });
  const { verdict, reasons } = skill.moderation;
  if (cx.json) cx.printJson({ skill });
  else {
    const style = createStyle(cx.color);
    const owner = skill.owner === null ? "" : `@${skill.owner}/`;
    cx.print(
      `${style.cyan(oneLine(owner + skill.slug))} ${oneLine(skill.version ?? "no version")}  ${oneLine(skill.title)}`,
    );
    cx.print(oneLine(skill.summary));
    if (skill.os.length > 0) cx.print(`runs on: ${oneLine(skill.os.join(", "))}`);
    if (verdict !== "clean")
      cx.print(style.red(`${verdict} by the registry's own judgement: ${oneLine(reasons.join(", "))}`));
    cx.print(style.dim(`in ${skill.registry}; install it with: aegis skill install ${oneLine(owner + skill.slug)}`));
  }
  return verdict === "malicious" ? exitCodes.failed : exitCodes.ok;
}

export async function registrySearch(
  cx: Terminal,
  args: { words: readonly string[]; limit: number | undefined },
): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const limit = args.limit === undefined ? {} : { limit: args.limit };
  const answer = await client.call("searchRegistry", { query: { q: args.words.join(" "), ...limit } });
  if (cx.json) cx.printJson(answer);
  else if (answer.skills.length === 0) cx.print(`${answer.registry} has no skill about that`);
  else {
    const style = createStyle(cx.color);
    const header: Cell[] = ["SKILL", "VERSION", "ABOUT"].map((text) => ({ text, paint: style.dim }));
    const rows = answer.skills.map(({ slug, owner, version, summary }): Cell[] => [
      { text: oneLine(owner === null ? slug : `@${owner}/${slug}`), paint: style.cyan },
      { text: oneLine(version ?? "") },
      { text: summary },
    ]);
    for (const line of columns(header, rows, cx.columns)) cx.print(line);
  }
  return exitCodes.ok;
}

/** Shows what was found, and asks unless `--yes` has said it. What was refused is shown in full before the error. */
async function attempt(cx: Terminal, args: Choices, call: Attempt): Promise<InstallOutcome> {
  const style = createStyle(cx.color);
  try {
    return await withConsent(call, async (skill) => {
      if (!cx.json) {
        cx.print(fetchedLine(skill, style));
        for (const line of findingLines(skill.findings, style)) cx.print(line);
      }
      return args.yes || (cx.interactive && confirm(cx, "Install it all the same?"));
    });
  } catch (error) {
    if (!cx.json) for (const line of findingLines(refusedFindings(error), style)) cx.warn(line);
    throw error;
  }
}

function printOutcome(cx: Terminal, result: InstallOutcome): void {
  const style = createStyle(cx.color);
  cx.print(outcomeLine(result, style));
  if (result.outcome === "consent") {
    if (!cx.interactive) cx.warn("  look at what was found; --yes installs it all the same");
    return;
  }
  const notes = result.skill.findings.filter(({ severity }) => severity === "note");
  for (const line of findingLines(notes, style)) cx.print(line);
}

function installedTable(skills: readonly InstalledSkillView[], cx: Terminal): string[] {
  const style = createStyle(cx.color);
  const paint = { intact: style.green, edited: style.yellow, missing: style.red };
  const header: Cell[] = ["SKILL", "VERSION", "STATE", "FOR", "FROM"].map((text) => ({ text, paint: style.dim }));
  const rows = skills.map(({ name, version, commit, state, scope, source }): Cell[] => [
    { text: oneLine(name), paint: style.cyan },
    { text: oneLine(version ?? commit?.slice(0, 10) ?? "") },
    { text: state, paint: paint[state] },
    { text: scope },
    { text: source },
  ]);
  return columns(header, rows, cx.columns);
}

function scopeOf({ user }: Choices): "user" | "project" {
  return user ? "user" : "project";
}

function codeOf({ outcome }: InstallOutcome): number {
  return outcome === "consent" ? exitCodes.failed : exitCodes.ok;
}
