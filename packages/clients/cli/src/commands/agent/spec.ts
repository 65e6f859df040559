/** Commands about agents and their files. */
import { argument, command, type Exit, option } from "../../program/command.ts";

/** The fields that `new` and `edit` set. An option that is not given leaves its field unchanged. */
const fields = {
  description: option.text("--description <text>", "what it is for"),
  prompt: option.text("--prompt <text>", "its system prompt; - reads it from standard input"),
  model: option.text("--model <name>", "its model (default: that of the default agent)"),
  harness: option.text("--harness <name>", "its harness (default: that of the default agent)"),
  effort: option.text("--effort <level>", "low, medium or high", ["low", "medium", "high"]),
  permission: option.text("--permission <rights>", "read, write, full or auto", ["read", "write", "full", "auto"]),
  temperature: option.text("--temperature <number>", "0 to 2, for native agents"),
  tools: option.text("--tools <names>", "allow only these tools, as in read,grep; none allows no tool"),
  denyTools: option.text("--deny-tools <names>", "deny these tools"),
};

export const agentCommands = {
  list: command({
    path: "agent list",
    summary: "List the agents and problems in their files",
    examples: ["aegis agent list"],
    run: (cx, args): Exit => import("./agent.ts").then((it) => it.agentList(cx, args)),
  }),
  show: command({
    path: "agent show",
    summary: "Show an agent's source, the agents it overrides, and its tools",
    arguments: { agent: argument("<agent>", "its name, or plugin:agent", "agent") },
    examples: ["aegis agent show explorer"],
    run: (cx, args): Exit => import("./agent.ts").then((it) => it.agentShow(cx, args)),
  }),
  new: command({
    path: "agent new",
    summary: "Create an agent file",
    arguments: { name: argument("<agent>", "its name") },
    options: {
      ...fields,
      from: option.text("--from <agent>", "start from a copy of this agent", "agent"),
      user: option.flag("--user", "for all projects, in ~/.aegis/agents"),
    },
    examples: [
      'aegis agent new docs --description "Writes documentation" --prompt "Write for newcomers." --tools read,write,grep',
      "aegis agent new reviewer --from reviewer --model opus",
    ],
    run: (cx, args): Exit => import("./agent.ts").then((it) => it.agentNew(cx, args)),
  }),
  edit: command({
    path: "agent edit",
    summary: "Change fields of an agent's file; keeps comments, an empty value removes a field",
    arguments: { name: argument("<agent>", "an agent's name", "agent") },
    options: fields,
    examples: ["aegis agent edit docs --model haiku --temperature 0", "aegis agent edit docs --prompt - < prompt.md"],
    run: (cx, args): Exit => import("./agent.ts").then((it) => it.agentEdit(cx, args)),
  }),
  validate: command({
    path: "agent validate",
    summary: "Check agent files",
    arguments: { files: argument("[file...]", "files; all agent files by default", "file") },
    examples: ["aegis agent validate", "aegis agent validate .aegis/agents/docs.md"],
    run: (cx, args): Exit => import("./agent.ts").then((it) => it.agentValidate(cx, args)),
  }),
};
