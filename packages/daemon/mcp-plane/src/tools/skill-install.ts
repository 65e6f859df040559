/** The tool that requests a skill. Aegis installs one only if a person or the configuration allows it. */

import { AegisError } from "@aegis/contract/errors.ts";
import type { FetchedSkill } from "@aegis/contract/skill-install.ts";
import type { InstallRequest, SkillInstaller } from "@aegis/installer/skill/installer.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import { type AgentTool, type AgentToolContext, defineTool } from "@aegis/sessions/tools/tools.ts";
import { z } from "zod";

export type SkillInstallToolOptions = {
  installer: SkillInstaller;
  asks: Asks;
  /** `ask`: a person decides about each skill; `allow`: only about suspicious ones; `deny`: none is installed. */
  policy: () => "ask" | "allow" | "deny";
};

export function skillInstallTool(options: SkillInstallToolOptions): AgentTool {
  return defineTool({
    name: "skill_install",
    description: "Install a third-party skill for this project. Aegis scans it, and a person is asked first.",
    input: z.object({
      name: z.string().min(1).max(200).describe("its name in the registry, or in the source if one is given"),
      source: z
        .string()
        .min(1)
        .max(2000)
        .optional()
        .describe("clawhub (the registry, default), gh:owner/repo[@ref][#path], https://… or a path"),
    }),
    readOnly: false,
    permission: "write",
    async run({ name, source }, context) {
      const policy = options.policy();
      if (policy === "deny")
        throw new AegisError("forbidden", "agents may not install skills in this project", {
          hint: "ask a person to run `aegis skill install`",
        });
      const request: InstallRequest = {
        ...placeOf(name, source),
        scope: "project",
        force: false,
        askFirst: policy === "ask",
        accept: null,
        override: [],
        by: context.caller.id,
      };
      const first = await options.installer.install(request, context.signal);
      if (first.outcome !== "consent") return told(first.outcome, first.skill);
      await consent(options.asks, first.skill, context);
      const { outcome, skill } = await options.installer.install(
        { ...request, accept: first.skill.hash },
        context.signal,
      );
      if (outcome === "consent")
        throw new AegisError("conflict", "the source changed while a person was deciding", {
          hint: "request it again",
        });
      return told(outcome, skill);
    },
  });
}

/** The source `clawhub` is the registry itself; the name then selects the skill. */
function placeOf(name: string, source: string | undefined): Pick<InstallRequest, "source" | "name"> {
  if (source === undefined) return { source: name, name: null };
  if (!/^clawhub:?$/i.test(source.trim())) return { source, name };
  return { source: name.startsWith("clawhub:") ? name : `clawhub:${name}`, name: null };
}

/** Throws unless a person allows exactly this skill. */
async function consent(asks: Asks, skill: FetchedSkill, { caller, signal }: AgentToolContext): Promise<void> {
  if (caller.ask_policy === "deny")
    throw new AegisError(
      "forbidden",
      "installing a skill needs a person's approval, and this session has no person to ask",
    );
  const { name, description, source, version, commit, hash, files, bytes, findings } = skill;
  const found = findings.length === 0 ? "nothing suspicious was found" : `${findings.length} findings`;
  const { status, answer } = await asks.ask(
    {
      session: caller.id,
      kind: "permission",
      question: `Install the skill "${name}" from ${source} (${files} files, ${found})?`,
      tool: "skill_install",
      detail: { name, description, source, version, commit, hash, files, bytes, findings },
      options: ["allow", "deny"],
    },
    signal,
  );
  if (status === "answered" && answer?.choice === "allow") return;
  const why = status === "expired" ? "no person answered in time" : answer?.text || "a person refused it";
  throw new AegisError("forbidden", `the skill "${name}" was not installed: ${why}`);
}

function told(outcome: string, { name, version, folder, hash, findings }: FetchedSkill) {
  const rules = findings.map(({ severity, rule, file, line }) => ({ severity, rule, file, line }));
  return {
    outcome,
    name,
    version,
    folder,
    hash,
    findings: rules,
    next: `load_skill("${name}") from your next turn on`,
  };
}
