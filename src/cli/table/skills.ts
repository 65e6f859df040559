/** Commands about skills. */
import type { ArgumentSpec, CommandSpec, OptionSpec } from "../spec.ts";

const skill: ArgumentSpec = { synopsis: "<skill>", description: "a skill's name", complete: "skill" };
const agent: OptionSpec = { flags: "--agent <name>", description: "only what this agent may use", complete: "agent" };

export const skillCommands: readonly CommandSpec[] = [
  {
    path: "skill list",
    summary: "List the skills agents are offered",
    options: [agent, { flags: "-a, --all", description: "also those that something keeps from being used" }],
    examples: ["aegis skill list", "aegis skill list --agent reviewer", "aegis skill list --json"],
    run: async (cx, input) =>
      (await import("../commands/skill.ts")).skillList(cx, { agent: input.text("agent"), all: input.flag("all") }),
  },
  {
    path: "skill show",
    summary: "Show a skill: where it comes from, what it needs, its text and files",
    arguments: [skill],
    examples: ["aegis skill show release-notes"],
    run: async (cx, input) => (await import("../commands/skill.ts")).skillShow(cx, { skill: input.required("skill") }),
  },
  {
    path: "skill check",
    summary: "Tell for each skill whether it can be used here, and what is wrong with its file",
    options: [agent],
    examples: ["aegis skill check", "aegis skill check --json"],
    run: async (cx, input) => (await import("../commands/skill.ts")).skillCheck(cx, { agent: input.text("agent") }),
  },
  {
    path: "skill search",
    summary: "Find skills by words: those that are here, or those in the registry",
    arguments: [{ synopsis: "<words...>", description: "what it should be about" }],
    options: [
      agent,
      { flags: "-r, --registry", description: "look in the registry for skills to install" },
      { flags: "-n, --limit <count>", description: "at most so many", value: "count" },
    ],
    examples: ["aegis skill search release notes", "aegis skill search --registry pdf"],
    run: async (cx, input) => {
      const [words, limit] = [input.list("words"), input.number("limit")];
      return input.flag("registry")
        ? (await import("../commands/skill-install.ts")).registrySearch(cx, { words, limit })
        : (await import("../commands/skill.ts")).skillSearch(cx, { words, agent: input.text("agent"), limit });
    },
  },
  {
    path: "skill validate",
    summary: "Check pages of skills; exit code 1 when one cannot be used",
    arguments: [
      { synopsis: "[path...]", description: "pages or folders; all that count here when absent", complete: "file" },
    ],
    examples: ["aegis skill validate", "aegis skill validate .aegis/skills/release-notes"],
    run: async (cx, input) => (await import("../commands/skill.ts")).skillValidate(cx, { paths: input.list("path") }),
  },
  {
    path: "skill new",
    summary: "Write the page of a new skill",
    arguments: [{ synopsis: "<skill>", description: "its name" }],
    options: [
      { flags: "--description <text>", description: "when it is of use, in a sentence" },
      { flags: "--body <text>", description: "its instructions; - reads them from standard input" },
      { flags: "--user", description: "for all projects, in ~/.aegis/skills" },
    ],
    examples: ['aegis skill new release-notes --description "How we write release notes" --body "List what changed."'],
    run: async (cx, input) =>
      (await import("../commands/skill.ts")).skillNew(cx, {
        name: input.required("skill"),
        description: input.text("description"),
        body: input.text("body"),
        user: input.flag("user"),
      }),
  },
];
