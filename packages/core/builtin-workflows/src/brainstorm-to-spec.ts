/** Asks a person five questions, then has a spec written from the answers. */
import { type Workflow, type WorkflowContext, WorkflowError, workflow, z } from "@aegis/plugin-api/index.ts";
import { slug, writeText } from "./files.ts";

const input = z.object({
  topic: z.string().min(1).optional().describe("the topic of the spec; asked for if absent"),
  spec_writer: z.string().min(1).optional().describe("the agent that writes the spec"),
});

export type BrainstormConfig = {
  /** The agent that writes the spec. */
  spec_writer: string;
  spec_dir: string;
  questions: string[];
};

type State = { topic: string; answers: string[] };

export function brainstormToSpec(): Workflow<typeof input, BrainstormConfig> {
  const config: BrainstormConfig = {
    spec_writer: "spec_writer",
    spec_dir: "docs/superpowers/specs",
    questions: [
      "What problem does it solve, and for whom?",
      "What must it do at minimum to be useful?",
      "What must it not do, or leave to other parts?",
      "What does it have to fit in with: code, formats, people, deadlines?",
      "How will you know that it works?",
    ],
  };
  return workflow(
    "brainstorm_to_spec",
    { description: "Ask a person five questions and have a spec written from the answers.", input, config },
    async (context, { topic: given, spec_writer = context.config.spec_writer }) => {
      const state: State = (await context.resumeState<State>()) ?? {
        topic: given ?? (await context.askHuman("What should the spec be about?")),
        answers: [],
      };
      const { questions, spec_dir } = context.config;
      for (const question of questions.slice(state.answers.length)) {
        state.answers.push(await context.askHuman(`${state.topic}: ${question}`));
        await context.checkpoint(`question ${state.answers.length}`, state);
      }
      const writer = await context.spawn(spec_writer, { alias: `spec: ${state.topic}` });
      const spec = await context.send(writer, prompt(state, questions));
      await context.close(writer);
      if (spec.trim() === "") throw new WorkflowError(`${spec_writer} wrote nothing`);
      const path = `${spec_dir}/${slug(state.topic)}.md`;
      await writeText(context as WorkflowContext<never>, path, spec);
      return { spec: path, topic: state.topic };
    },
  );
}

function prompt({ topic, answers }: State, questions: readonly string[]): string {
  const dialogue = questions.map((question, index) => `**${question}**\n\n${answers[index] ?? ""}`);
  return [
    `Write a specification for: ${topic}`,
    "Answer with the whole document in Markdown and nothing else: purpose, scope, behaviour, limits, how to check it.",
    "The answers so far:",
    ...dialogue,
  ].join("\n\n");
}
