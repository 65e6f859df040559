/** `aegis skill install …`: installs, updates and inspects third-party skills. */

import type { InstalledSkillView, InstallOutcome } from "@aegis/contract/skill-install.ts";
import { table } from "../../format/columns.ts";
import { fetchedLine, findingLines, outcomeLine } from "../../format/skill-findings.ts";
import { oneLine } from "../../format/text.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { given } from "../../program/given.ts";
import { confirm } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { absoluteSource, type InstallAttempt, withConsent } from "./install-consent.ts";
import { overriddenRules } from "./override.ts";
import type { skillCommands } from "./spec.ts";

type Scope = { user: boolean };

type Choices = Scope & {
  yes: boolean;
  force: boolean;
  /** The rules whose malicious findings the user overrides. */
  override: readonly string[];
};

export const skillInstall: Handler<typeof skillCommands.install> = async (cx, args) => {
  const source = absoluteSource(args.from ?? args.skill, cx);
  const name = args.from === undefined ? undefined : args.skill;
  const body = { source, scope: scopeOf(args), force: args.force, ...given({ name }) };
  cx.warn(cx.style.dim(`fetching ${source} …`));
  const result = await attempt(cx, args, (accept) => cx.call("installSkill", { body: { ...body, ...accept } }));
  cx.show(result, () => printOutcome(cx, result));
  return result.outcome === "consent" ? exitCodes.failed : exitCodes.ok;
};

/** Updates every skill if none is named. One failure does not stop the others. */
export const skillUpdate: Handler<typeof skillCommands.update> = async (cx, args) => {
  const { client } = await cx.daemon();
  const { skills: installed } = await client.call("listInstalledSkills");
  const scope = scopeOf(args);
  const names =
    args.skills.length > 0 ? args.skills : installed.filter((one) => one.scope === scope).map((one) => one.name);
  if (names.length === 0) cx.tell("no skills are installed here");
  const results: (InstallOutcome | { outcome: "failed"; name: string; error: string })[] = [];
  for (const name of names) {
    cx.warn(cx.style.dim(`looking for ${name} …`));
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
};

export const skillRemove: Handler<typeof skillCommands.remove> = async (cx, args) => {
  if (!args.yes) {
    if (!cx.interactive) throw usageError(`removing ${args.skill} needs confirmation`, "confirm with --yes");
    if (!(await confirm(cx, `Remove the skill ${args.skill}?`))) return exitCodes.failed;
  }
  const query = { scope: scopeOf(args), force: args.force };
  const answer = await cx.call("removeSkill", { path: { skill: args.skill }, query });
  cx.show(answer, `removed ${oneLine(answer.removed.name)} (${answer.removed.folder})`);
};

export const skillInstalled: Handler<typeof skillCommands.installed> = async (cx) => {
  const answer = await cx.call("listInstalledSkills");
  const none = "no skills are installed here; install one with: aegis skill install <skill>";
  cx.show(answer, () => (answer.skills.length === 0 ? none : installedTable(answer.skills, cx)));
};

/** Exits with 1 if the registry reports the skill as malicious. */
export const skillInfo: Handler<typeof skillCommands.info> = async (cx, args) => {
  const { skill } = await cx.call("getRegistrySkill", { query: { skill: args.skill } });
  const { verdict, reasons } = skill.moderation;
  const { style } = cx;
  const name = oneLine(`${skill.owner === null ? "" : `@${skill.owner}/`}${skill.slug}`);
  const judged = `${verdict} according to the registry: ${oneLine(reasons.join(", "))}`;
  cx.show({ skill }, () => [
    `${style.cyan(name)} ${oneLine(skill.version ?? "no version")}  ${oneLine(skill.title)}`,
    oneLine(skill.summary),
    ...(skill.os.length === 0 ? [] : [`runs on: ${oneLine(skill.os.join(", "))}`]),
    ...(verdict === "clean" ? [] : [style.red(judged)]),
    style.dim(`in ${skill.registry}; install it with: aegis skill install ${name}`),
  ]);
  return verdict === "malicious" ? exitCodes.failed : exitCodes.ok;
};

export const registrySearch: Handler<typeof skillCommands.search> = async (cx, args) => {
  const query = { q: args.words.join(" "), ...given({ limit: args.limit }) };
  const answer = await cx.call("searchRegistry", { query });
  if (answer.skills.length === 0) return cx.show(answer, `${answer.registry} has no matching skill`);
  cx.show(answer, () =>
    table(cx, ["SKILL", "VERSION", "ABOUT"], answer.skills, ({ slug, owner, version, summary }) => [
      { text: oneLine(owner === null ? slug : `@${owner}/${slug}`), paint: cx.style.cyan },
      oneLine(version ?? ""),
      summary,
    ]),
  );
};

/** Shows the findings, and asks for consent unless `--yes` is given. A refused skill is shown in full before the error. */
function attempt(cx: Terminal, args: Choices, call: InstallAttempt): Promise<InstallOutcome> {
  const style = cx.style;
  return withConsent(call, {
    async accept(skill) {
      cx.tell([fetchedLine(skill, style), ...findingLines(skill.findings, style)]);
      return args.yes || (cx.interactive && confirm(cx, "Install it anyway?"));
    },
    async override({ findings, overridable }) {
      if (!cx.json) for (const line of findingLines(findings, style)) cx.warn(line);
      return overridable === null ? [] : overriddenRules(cx, args.override, overridable.rules);
    },
  });
}

function printOutcome(cx: Terminal, result: InstallOutcome): void {
  const style = cx.style;
  cx.print(outcomeLine(result, style));
  if (result.outcome === "consent") {
    if (!cx.interactive) cx.warn("  review the findings; --yes installs it anyway");
    return;
  }
  const notes = result.skill.findings.filter(({ severity }) => severity === "note");
  cx.tell(findingLines(notes, style));
}

function installedTable(skills: readonly InstalledSkillView[], cx: Terminal): string[] {
  const style = cx.style;
  const paint = { intact: style.green, edited: style.yellow, missing: style.red };
  const titles = ["SKILL", "VERSION", "STATE", "FOR", "FROM"];
  return table(cx, titles, skills, ({ name, version, commit, state, scope, source }) => [
    { text: oneLine(name), paint: style.cyan },
    oneLine(version ?? commit?.slice(0, 10) ?? ""),
    { text: state, paint: paint[state] },
    scope,
    source,
  ]);
}

function scopeOf({ user }: Scope): "user" | "project" {
  return user ? "user" : "project";
}
