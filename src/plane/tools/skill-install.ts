/** A tool to ask for a skill. Nothing an agent says puts one in place unless a person, or the configuration, allows it. */
import { z } from "zod";
import { AegisError } from "../../contract/errors.ts";
import type { FetchedSkill } from "../../contract/skill-install.ts";
import type { Asks } from "../../runtime/asks/asks.ts";
import { defineTool, type Tool, type ToolContext } from "../../runtime/registry/tools.ts";
import type { InstallRequest, SkillInstaller } from "../../runtime/skills/install/installer.ts";

export type SkillInstallToolOptions = {
  installer: SkillInstaller;
  asks: Asks;
  /** `ask`: a person decides about each; `allow`: only about what is suspicious; `deny`: none is installed. */
  policy: () => "ask" | "allow" | "deny";
};

export function skillInstallTool(options: SkillInstallToolOptions): Tool {
  return defineTool({
    name: "skill_install",
    description: "Install a skill for this project from elsewhere. It is looked through, and a person is asked first.",
    input: z.object({
      name: z.string().min(1).max(200).describe("in the registry; with a source, the skill's name in it"),
      source: z.string().min(1).max(2000).optional().describe("gh:owner/repo[@ref][#path], https://… or a path"),
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
        source: source ?? name,
        name: source === undefined ? null : name,
        scope: "project",
        force: false,
        askFirst: policy === "ask",
        accept: null,
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
        throw new AegisError("conflict", "the source changed while a person was asked", { hint: "ask for it again" });
      return told(outcome, skill);
    },
  });
}

/** Throws unless a person allows exactly this. */
async function consent(asks: Asks, skill: FetchedSkill, { caller, signal }: ToolContext): Promise<void> {
  if (caller.ask_policy === "deny")
    throw new AegisError("forbidden", "installing a skill needs a person, and nobody is there in this session");
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
  const why = status === "expired" ? "nobody answered in time" : answer?.text || "a person refused it";
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
