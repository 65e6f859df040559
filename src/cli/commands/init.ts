/** `aegis init`: writes a first project file that is worth reading, and keeps what is private out of git. */
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { stringify } from "yaml";
import { AegisError } from "../../contract/errors.ts";
import { configFileName, findProjectRoot } from "../../lib/daemon-file.ts";
import { writeAtomic } from "../../lib/files.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { type CliContext, exitCodes } from "../context.ts";
import { ignoreInGit } from "../git-ignore.ts";

export type InitArgs = {
  /** Ask nothing. */
  yes: boolean;
  /** Replace a project file that is there. */
  force: boolean;
  /** The agent that detection chose. */
  agent: { slug: string; harness: string; model?: string | undefined; why: string };
  harnesses: readonly string[];
};

const permissions = ["read", "write", "full", "auto"] as const;
type Permission = (typeof permissions)[number];

/** `why` explains the agent in the file; null when a person chose it. */
type Choice = { slug: string; harness: string; model: string | null; permission: Permission; why: string | null };

export async function init(cx: CliContext, args: InitArgs): Promise<number> {
  const path = join(cx.cwd, configFileName);
  const replaced = existsSync(path);
  if (replaced && !args.force)
    throw new AegisError("conflict", `${path} is already there`, {
      hint: "edit it, use aegis config, or replace it with: aegis init --force",
    });
  const outer = replaced ? cx.cwd : findProjectRoot(dirname(cx.cwd));
  const choice = args.yes || !cx.interactive ? suggestion(args) : await ask(cx, args);
  if (choice === null) {
    cx.warn("Nothing was written.");
    return exitCodes.interrupted;
  }
  const text = template(choice);
  await refuseProblems(cx.cwd, path, text, args.harnesses);
  const { editAsOwner } = await import("../../daemon/trust/agree.ts");
  const { harnesses } = args;
  await editAsOwner({ root: cx.cwd, env: cx.env, harnesses }, () => writeAtomic(path, text));
  const ignored = await ignoreInGit(cx.cwd);
  if (cx.json) {
    cx.printJson({ ok: true, file: path, replaced, agent: choice, gitignore: ignored });
    return exitCodes.ok;
  }
  cx.print(
    `${replaced ? "Replaced" : "Wrote"} ${relative(cx.cwd, path)} with the agent ${choice.slug} (${choice.harness}).`,
  );
  if (choice.why !== null) cx.print(`It was chosen because ${choice.why}.`);
  if (ignored.length > 0) cx.print(`Added to .gitignore: ${ignored.join(", ")}`);
  if (existsSync(join(outer, configFileName)) && outer !== cx.cwd)
    cx.print(`Note: ${join(outer, configFileName)} no longer applies in this folder.`);
  cx.print("");
  cx.print("Next:");
  cx.print("  aegis chat             talk to it");
  cx.print("  aegis config show      see every setting");
  cx.print("  aegis config agent add add a colleague for it");
  return exitCodes.ok;
}

function suggestion({ agent }: InitArgs): Choice {
  return { slug: agent.slug, harness: agent.harness, model: agent.model ?? null, permission: "auto", why: agent.why };
}

/** Null when the person ends the input instead of answering. */
async function ask(cx: CliContext, args: InitArgs): Promise<Choice | null> {
  const suggested = suggestion(args);
  const input = createInterface({ input: cx.stdin, terminal: false });
  const lines = input[Symbol.asyncIterator]();
  const question = async <T extends string>(text: string, choices: readonly T[], preset: T): Promise<T | null> => {
    while (true) {
      cx.write(`${text} (${choices.join(", ")}) [${preset}] `);
      const line = await lines.next();
      if (line.done === true) return null;
      const answer = line.value.trim();
      const chosen = answer === "" ? preset : choices.find((choice) => choice === answer);
      if (chosen !== undefined) return chosen;
      cx.print(`"${answer}" is not one of them${didYouMean(answer, choices)}.`);
    }
  };
  try {
    cx.print(`Suggested agent: ${suggested.slug} (${suggested.harness}), because ${args.agent.why}.`);
    const harness = await question("Which harness runs your agent?", args.harnesses, suggested.harness);
    if (harness === null) return null;
    const permission = await question("What may it do without asking?", permissions, suggested.permission);
    if (permission === null) return null;
    if (harness === suggested.harness) return { ...suggested, permission };
    return { slug: harness, harness, model: null, permission, why: null };
  } finally {
    input.close();
  }
}

/** Overlays that are already there count too: the first start must not fail on a file we just wrote. */
async function refuseProblems(root: string, path: string, text: string, harnesses: readonly string[]): Promise<void> {
  const { loadProject } = await import("../../daemon/config/load.ts");
  const { diskFiles } = await import("../../daemon/config/files.ts");
  const { formatProblem } = await import("../../daemon/config/problem.ts");
  const read = async (file: string) => (file === path ? Buffer.from(text) : diskFiles.read(file));
  const { problems } = await loadProject(root, { harnesses }, { ...diskFiles, read });
  if (problems.length === 0) return;
  const lines = problems.map((problem) => `  ${formatProblem(problem)}`).join("\n");
  throw new AegisError("invalid", `nothing was written, because the project would not load:\n${lines}`, {
    details: { problems },
  });
}

function template({ slug, harness, model, permission, why }: Choice): string {
  const scalar = (value: string) => stringify(value).trimEnd();
  const modelLine =
    model === null ? "# model: …            # the harness chooses while this is not set" : `model: ${scalar(model)}`;
  return `# The agents that work on this project. A running daemon takes changes over at once; a mistake changes nothing
# and is reported with its line by: aegis config show
#
# What is only true for your machine goes into .aegis.local.yaml, which is laid over this file and stays out of git.

# The agent that answers when none is named.
default_agent: ${slug}

agents:
${why === null ? "" : `  # Chosen because ${why.replaceAll(/\s+/g, " ")}.\n`}  ${slug}:
    harness: ${scalar(harness)}
    ${modelLine}
    # effort: medium       # low, medium or high
    # read looks, write edits files, full runs anything, auto lets the harness decide and ask
    permission: ${permission}
    # prompt: prompts/${slug}.md   # a file with standing instructions

  # A colleague with fewer rights. Start it with: aegis spawn reviewer
  # reviewer:
  #   harness: ${scalar(harness)}
  #   description: Reads changes and says what is wrong with them.
  #   permission: read

# How far one request may travel from agent to agent before it is stopped.
# messages:
#   max_hops: 20

# Model providers of native agents. Keys stay in the environment; only the name of the variable is written here.
# models:
#   local:
#     base_url: http://127.0.0.1:8080/v1
#   hosted:
#     base_url: https://models.example/v1
#     key_env: HOSTED_API_KEY

# What models cost, in US dollars for a million tokens, for budgets over agents whose harness does not say it.
# prices:
#   hosted/some-model: { input: 3, output: 15 }

# Where the daemon listens. Port 0 takes a free one.
# server:
#   bind: 127.0.0.1
#   port: 0
`;
}
