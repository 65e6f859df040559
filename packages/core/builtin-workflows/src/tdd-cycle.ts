/**
 * Test-driven development: one agent writes a failing test, another makes it pass, a third one reviews. Commands check
 * each phase.
 */
import { type Workflow, type WorkflowContext, workflow, z } from "@aegis/plugin-api/index.ts";
import { quote } from "./files.ts";

const input = z.object({
  feature: z.string().min(1).describe("the feature to build, in a few sentences"),
  test_path: z.string().min(1).describe("the file of the test"),
  test_command: z.string().min(1).optional().describe("the command that runs the test; {test} is replaced by its file"),
});

export type TddCycleConfig = {
  implementer: string;
  reviewer: string;
  /** Runs the test; `{test}` is replaced by its file. */
  test_command: string;
  max_retries: number;
};

type Phase = "red" | "green";
type Task = z.output<typeof input> & { test: string };

export function tddCycle(): Workflow<typeof input, TddCycleConfig> {
  const config: TddCycleConfig = {
    implementer: "implementer",
    reviewer: "reviewer",
    test_command: "npm test -- {test}",
    max_retries: 3,
  };
  return workflow(
    "tdd_cycle",
    { description: "Build a feature test first: a failing test, the code that passes it, a review.", input, config },
    async (context, args) => {
      const passed = await context.resumeState<{ phase: Phase }>();
      const test = (args.test_command ?? context.config.test_command).replaceAll("{test}", quote(args.test_path));
      if (passed === null) await red(context, { ...args, test });
      if (passed?.phase !== "green") await green(context, { ...args, test });
      const review = await reviewed(context, { ...args, test });
      return { feature: args.feature, test_path: args.test_path, review };
    },
  );
}

async function red(context: WorkflowContext<TddCycleConfig>, { feature, test_path, test }: Task): Promise<void> {
  await withAgent(context, context.config.implementer, `writes a test: ${feature}`, async (agent) => {
    await context.send(
      agent,
      `Write a test in ${test_path} for this feature, and nothing else yet. It must fail.\n\n${feature}`,
    );
    // The test must exist and fail: a missing file is not a failing test.
    const failing = `test -f ${quote(test_path)} && ! ( ${test} )`;
    const retryWith = `There is no failing test in ${test_path} yet: it is missing, or it already passes.\n\n{stdout}\n{stderr}`;
    await context.bashPredicate(failing, { retryWith, maxRetries: context.config.max_retries, to: agent });
  });
  await context.checkpoint("red: the test fails", { phase: "red" });
}

async function green(context: WorkflowContext<TddCycleConfig>, { feature, test_path, test }: Task): Promise<void> {
  await withAgent(context, context.config.implementer, `makes it pass: ${feature}`, async (agent) => {
    await context.send(
      agent,
      `Make the test in ${test_path} pass, without changing it. It is about this feature:\n\n${feature}`,
    );
    const retryWith = "The test still fails (exit {exit}). Go on.\n\n{stdout}\n{stderr}";
    await context.bashPredicate(test, { retryWith, maxRetries: context.config.max_retries, to: agent });
  });
  await context.checkpoint("green: the test passes", { phase: "green" });
}

function reviewed(context: WorkflowContext<TddCycleConfig>, { feature, test_path }: Task): Promise<string> {
  return withAgent(context, context.config.reviewer, `reviews: ${feature}`, (agent) =>
    context.send(
      agent,
      `A feature was built test-first; its test is ${test_path}. Review the current test and code; change nothing.\n\n${feature}`,
    ),
  );
}

async function withAgent<T>(
  context: WorkflowContext<TddCycleConfig>,
  agent: string,
  alias: string,
  work: (handle: string) => Promise<T>,
): Promise<T> {
  const handle = await context.spawn(agent, { alias });
  const result = await work(handle);
  await context.close(handle);
  return result;
}
