/** The text of a first `.aegis.yaml`: the agents that were chosen, and the keys that a new project may want, as comments. */
import { stringify } from "yaml";
import type { Choice, Extra } from "./init-agents.ts";

export function template(choice: Choice, extras: readonly Extra[]): string {
  const { slug, harness, model, permission, isolation, why } = choice;
  const scalar = (value: string) => stringify(value).trimEnd();
  const modelLine =
    model === null ? "# model: …            # if not set, the harness chooses" : `model: ${scalar(model)}`;
  return `# The agents that work on this project. A running daemon applies changes immediately. An invalid file is not applied
# and is reported with its line by: aegis config show
#
# Settings for this machine only go into .aegis.local.yaml, which overrides this file and stays out of git.

# The agent that answers when none is named.
default_agent: ${slug}

agents:
${why === null ? "" : `  # Chosen because ${why.replaceAll(/\s+/g, " ")}.\n`}  ${slug}:
    harness: ${scalar(harness)}
    ${modelLine}
    # effort: medium       # low, medium or high
    # read only reads, write edits files, full runs anything, auto lets the harness decide and ask
    permission: ${permission}
${isolation === null ? "" : `    isolation: ${isolation}   # each session works in a git worktree of its own; land its work with aegis land\n`}    # prompt: prompts/${slug}.md   # a file with permanent instructions

${extras.length === 0 ? exampleColleague(scalar(harness)) : extras.map(extraText).join("\n")}
# The longest chain of messages from agent to agent.
# messages:
#   max_hops: 20

# Model providers of native agents. Keys stay in the environment; only the name of the variable is written here.
# models:
#   local:
#     base_url: http://127.0.0.1:8080/v1
#   hosted:
#     base_url: https://models.example/v1
#     key_env: HOSTED_API_KEY

# Model prices in US dollars per million tokens, for budgets of agents whose harness does not report costs.
# prices:
#   hosted/some-model: { input: 3, output: 15 }

# Where the daemon listens. Port 0 chooses a free port.
# server:
#   bind: 127.0.0.1
#   port: 0
`;
}

function exampleColleague(harness: string): string {
  return `  # A second agent with fewer rights. Start it with: aegis spawn reviewer
  # reviewer:
  #   harness: ${harness}
  #   description: Reads changes and says what is wrong with them.
  #   permission: read
`;
}

function extraText({ slug, why, entry }: Extra): string {
  const lines = stringify({ [slug]: entry }, { lineWidth: 0 })
    .trimEnd()
    .split("\n");
  return [`  # ${why.replaceAll(/\s+/g, " ")}.`, ...lines.map((line) => `  ${line}`), ""].join("\n");
}
