/** Commands that install skills. */
import type { ArgumentSpec, CommandSpec, OptionSpec } from "../spec.ts";

const installed: ArgumentSpec = { synopsis: "<skill>", description: "an installed skill's name", complete: "skill" };
const user: OptionSpec = { flags: "--user", description: "for all projects, in ~/.aegis/skills" };
const yes: OptionSpec = { flags: "-y, --yes", description: "consent to what is suspicious; malicious stays refused" };

export const skillInstallCommands: readonly CommandSpec[] = [
  {
    path: "skill install",
    summary: "Install a skill from the registry, git, a URL or a folder",
    arguments: [
      {
        synopsis: "<skill>",
        description: "slug, @owner/slug, slug@version, gh:owner/repo[@ref][#path], git+URL, URL, folder, page or ZIP",
        complete: "file",
      },
    ],
    options: [
      { flags: "--from <source>", description: "where it is; <skill> then names one of those there" },
      user,
      yes,
      { flags: "--force", description: "also over a skill of another source, or one that was edited" },
    ],
    examples: [
      "aegis skill install pdf",
      "aegis skill install pdf --from gh:anthropics/skills",
      "aegis skill install ./my-skill --user",
    ],
    run: async (cx, input) =>
      (await import("../commands/skill-install.ts")).skillInstall(cx, {
        skill: input.required("skill"),
        from: input.text("from"),
        ...choices(input),
      }),
  },
  {
    path: "skill update",
    summary: "Fetch installed skills again from where they came",
    arguments: [{ ...installed, synopsis: "[skill...]", description: "names of installed skills; all when absent" }],
    options: [user, yes, { flags: "--force", description: "also over edits" }],
    examples: ["aegis skill update", "aegis skill update pdf --force"],
    run: async (cx, input) =>
      (await import("../commands/skill-install.ts")).skillUpdate(cx, {
        skills: input.list("skill"),
        ...choices(input),
      }),
  },
  {
    path: "skill remove",
    summary: "Remove an installed skill",
    arguments: [installed],
    options: [
      user,
      { flags: "-y, --yes", description: "do not ask" },
      { flags: "--force", description: "also when it was edited" },
    ],
    examples: ["aegis skill remove pdf --yes"],
    run: async (cx, input) =>
      (await import("../commands/skill-install.ts")).skillRemove(cx, {
        skill: input.required("skill"),
        ...choices(input),
      }),
  },
  {
    path: "skill installed",
    summary: "List what was installed, from where, and whether it was edited since",
    examples: ["aegis skill installed"],
    run: async (cx) => (await import("../commands/skill-install.ts")).skillInstalled(cx),
  },
  {
    path: "skill info",
    summary: "Show what the registry says about a skill",
    arguments: [{ synopsis: "<skill>", description: "slug or @owner/slug" }],
    examples: ["aegis skill info pdf"],
    run: async (cx, input) =>
      (await import("../commands/skill-install.ts")).skillInfo(cx, { skill: input.required("skill") }),
  },
];

function choices(input: { flag(name: string): boolean }) {
  return { user: input.flag("user"), yes: input.flag("yes"), force: input.flag("force") };
}
