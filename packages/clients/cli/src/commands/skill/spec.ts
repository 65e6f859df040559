/** Commands about skills. */
import { argument, command, type Exit, option } from "../../program/command.ts";
import { overrideMalicious } from "../../program/override-option.ts";

const user = option.flag("--user", "for all projects, in ~/.aegis/skills");
const yes = option.flag("-y, --yes", "accept suspicious findings; malicious skills are still refused");
const agent = option.text("--agent <name>", "only skills that this agent may use", "agent");

export const skillCommands = {
  install: command({
    path: "skill install",
    summary: "Install a skill from the registry, git, a URL or a folder",
    arguments: {
      skill: argument(
        "<skill>",
        "slug, @owner/slug, slug@version, gh:owner/repo[@ref][#path], git+URL, URL, folder, page or ZIP",
        "file",
      ),
    },
    options: {
      from: option.text("--from <source>", "the source; <skill> then names one of its skills"),
      user,
      yes,
      override: overrideMalicious,
      force: option.flag("--force", "replace a skill from another source or with local edits"),
    },
    examples: [
      "aegis skill install pdf",
      "aegis skill install pdf --from gh:anthropics/skills",
      "aegis skill install ./my-skill --user",
    ],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.skillInstall(cx, args)),
  }),
  update: command({
    path: "skill update",
    summary: "Update installed skills from their sources",
    arguments: { skills: argument("[skill...]", "names of installed skills; all by default", "skill") },
    options: { user, yes, override: overrideMalicious, force: option.flag("--force", "replace local edits") },
    examples: ["aegis skill update", "aegis skill update pdf --force"],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.skillUpdate(cx, args)),
  }),
  remove: command({
    path: "skill remove",
    summary: "Remove an installed skill",
    arguments: { skill: argument("<skill>", "an installed skill's name", "skill") },
    options: {
      user,
      yes: option.flag("-y, --yes", "do not prompt"),
      force: option.flag("--force", "remove it even if it was edited"),
    },
    examples: ["aegis skill remove pdf --yes"],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.skillRemove(cx, args)),
  }),
  installed: command({
    path: "skill installed",
    summary: "List the installed skills, their sources, and whether they were edited",
    examples: ["aegis skill installed"],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.skillInstalled(cx, args)),
  }),
  info: command({
    path: "skill info",
    summary: "Show a skill's entry in the registry",
    arguments: { skill: argument("<skill>", "slug or @owner/slug") },
    examples: ["aegis skill info pdf"],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.skillInfo(cx, args)),
  }),
  list: command({
    path: "skill list",
    summary: "List the skills that agents can use",
    options: { agent, all: option.flag("-a, --all", "include skills that cannot be used here") },
    examples: ["aegis skill list", "aegis skill list --agent reviewer", "aegis skill list --json"],
    run: (cx, args): Exit => import("./skill.ts").then((it) => it.skillList(cx, args)),
  }),
  show: command({
    path: "skill show",
    summary: "Show a skill: where it comes from, what it needs, its text and files",
    arguments: { skill: argument("<skill>", "a skill's name", "skill") },
    examples: ["aegis skill show release-notes"],
    run: (cx, args): Exit => import("./skill.ts").then((it) => it.skillShow(cx, args)),
  }),
  check: command({
    path: "skill check",
    summary: "Check which skills can be used here, and show problems in their files",
    options: { agent },
    examples: ["aegis skill check", "aegis skill check --json"],
    run: (cx, args): Exit => import("./skill.ts").then((it) => it.skillCheck(cx, args)),
  }),
  search: command({
    path: "skill search",
    summary: "Search skills, in this project or in the registry",
    arguments: { words: argument("<words...>", "words to search for") },
    options: {
      agent,
      registry: option.flag("-r, --registry", "look in the registry for skills to install"),
      limit: option.count("-n, --limit <count>", "maximum number of results"),
    },
    examples: ["aegis skill search release notes", "aegis skill search --registry pdf"],
    run: (cx, args): Exit =>
      args.registry
        ? import("./install.ts").then((it) => it.registrySearch(cx, args))
        : import("./skill.ts").then((it) => it.skillSearch(cx, args)),
  }),
  validate: command({
    path: "skill validate",
    summary: "Check skill files; exit code 1 if one cannot be used",
    arguments: { paths: argument("[path...]", "files or folders; all skills by default", "file") },
    examples: ["aegis skill validate", "aegis skill validate .aegis/skills/release-notes"],
    run: (cx, args): Exit => import("./skill.ts").then((it) => it.skillValidate(cx, args)),
  }),
  new: command({
    path: "skill new",
    summary: "Create a skill file",
    arguments: { name: argument("<skill>", "its name") },
    options: {
      description: option.text("--description <text>", "when to use it, in one sentence"),
      body: option.text("--body <text>", "its instructions; - reads them from standard input"),
      user,
    },
    examples: ['aegis skill new release-notes --description "How we write release notes" --body "List what changed."'],
    run: (cx, args): Exit => import("./skill.ts").then((it) => it.skillNew(cx, args)),
  }),
};
