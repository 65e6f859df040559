/** Commands about agents and their files. */
import type { AgentFieldArgs } from "../commands/agent.ts";
import type { ArgumentSpec, CommandSpec, Input, OptionSpec } from "../spec.ts";
import type { Terminal } from "../terminal.ts";

const agent: ArgumentSpec = { synopsis: "<agent>", description: "an agent's name", complete: "agent" };
const fieldOptions: readonly OptionSpec[] = [
  { flags: "--description <text>", description: "what it is for" },
  { flags: "--prompt <text>", description: "its system prompt; - reads it from standard input" },
  { flags: "--model <name>", description: "its model; that of the default agent when absent" },
  { flags: "--harness <name>", description: "what runs it; that of the default agent when absent" },
  { flags: "--effort <level>", description: "low, medium or high", complete: ["low", "medium", "high"] },
  {
    flags: "--permission <rights>",
    description: "read, write, full or auto",
    complete: ["read", "write", "full", "auto"],
  },
  { flags: "--temperature <number>", description: "0 to 2, for native agents" },
  { flags: "--tools <names>", description: "exactly these tools, as in read,grep; none for none at all" },
  { flags: "--deny-tools <names>", description: "all but these" },
];

export const agentCommands: readonly CommandSpec[] = [
  {
    path: "agent list",
    summary: "List the agents and what is wrong with their files",
    examples: ["aegis agent list"],
    run: async (cx) => (await import("../commands/agent.ts")).agentList(cx),
  },
  {
    path: "agent show",
    summary: "Show where an agent comes from, what it hides, which tools it has and why",
    arguments: [{ ...agent, description: "its name, or plugin:agent" }],
    examples: ["aegis agent show explorer"],
    run: async (cx, input) => (await import("../commands/agent.ts")).agentShow(cx, { agent: input.required("agent") }),
  },
  {
    path: "agent new",
    summary: "Write the file of a new agent",
    arguments: [{ synopsis: "<agent>", description: "its name" }],
    options: [
      ...fieldOptions,
      { flags: "--from <agent>", description: "begin with a copy of this one", complete: "agent" },
      { flags: "--user", description: "for all projects, in ~/.aegis/agents" },
    ],
    examples: [
      'aegis agent new docs --description "Writes documentation" --prompt "Write for newcomers." --tools read,write,grep',
      "aegis agent new reviewer --from reviewer --model opus",
    ],
    run: withHarnesses(async (cx, harnesses, input) =>
      (await import("../commands/agent.ts")).agentNew(cx, {
        ...fieldsFrom(input),
        harnesses,
        name: input.required("agent"),
        from: input.text("from"),
        user: input.flag("user"),
      }),
    ),
  },
  {
    path: "agent edit",
    summary: "Change fields of an agent's file; comments stay, an empty value removes one",
    arguments: [agent],
    options: fieldOptions,
    examples: ["aegis agent edit docs --model haiku --temperature 0", "aegis agent edit docs --prompt - < prompt.md"],
    run: withHarnesses(async (cx, harnesses, input) =>
      (await import("../commands/agent.ts")).agentEdit(cx, {
        ...fieldsFrom(input),
        harnesses,
        name: input.required("agent"),
      }),
    ),
  },
  {
    path: "agent validate",
    summary: "Check agent files",
    arguments: [{ synopsis: "[file...]", description: "files; all that count here when absent", complete: "file" }],
    examples: ["aegis agent validate", "aegis agent validate .aegis/agents/docs.md"],
    run: withHarnesses(async (cx, harnesses, input) =>
      (await import("../commands/agent.ts")).agentValidate(cx, { harnesses, files: input.list("file") }),
    ),
  },
];

function fieldsFrom(input: Input): AgentFieldArgs {
  return {
    description: input.text("description"),
    model: input.text("model"),
    harness: input.text("harness"),
    effort: input.text("effort"),
    permission: input.text("permission"),
    temperature: input.text("temperature"),
    tools: input.text("tools"),
    denyTools: input.text("denyTools"),
    prompt: input.text("prompt"),
  };
}

function withHarnesses(
  run: (cx: Terminal, harnesses: readonly string[], input: Input) => Promise<number>,
): CommandSpec["run"] {
  return async (cx, input) => {
    const { harnessNames } = await import("../../daemon/checkup.ts");
    return run(cx, harnessNames(cx.cwd, cx.env), input);
  };
}
