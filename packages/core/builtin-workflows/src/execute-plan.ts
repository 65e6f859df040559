/** Executes a plan with a new agent per slice. An interrupted run resumes at the next unfinished slice. */
import { type Workflow, type WorkflowContext, WorkflowError, workflow, z } from "@aegis/plugin-api/index.ts";
import { readText } from "./files.ts";
import { parsePlan, type Slice } from "./plan.ts";

const input = z.object({
  plan_path: z.string().min(1).describe("a Markdown file with one `## Slice N — title` heading per slice"),
  agent: z.string().optional().describe("the agent that implements the slices; default: `default_subagent_profile`"),
});

export type ExecutePlanConfig = {
  /** The agent of each slice. */
  default_subagent_profile: string;
  /** A command that must succeed after each slice; empty for none. */
  check: string;
  max_retries: number;
};

type Done = { number: number; title: string; summary: string };

export function executePlan(): Workflow<typeof input, ExecutePlanConfig> {
  const config: ExecutePlanConfig = { default_subagent_profile: "implementer", check: "", max_retries: 3 };
  return workflow(
    "execute_plan",
    {
      description: "Work through a plan, one fresh agent per slice; resumes at the next unfinished slice.",
      input,
      config,
    },
    async (context, { plan_path, agent }) => {
      const done = (await context.resumeState<Done[]>()) ?? [];
      const slices = parsePlan(await readText(context as WorkflowContext<never>, plan_path), plan_path);
      const finished = new Set(done.map((slice) => slice.number));
      const left = slices.filter((slice) => !finished.has(slice.number));
      context.log(`${slices.length} slices in ${plan_path}, ${left.length} to do`);
      for (const slice of left) {
        const summary = await implement(context, slice, { plan_path, agent, total: slices.length });
        done.push({ number: slice.number, title: slice.title, summary });
        await context.checkpoint(`slice ${slice.number} — ${slice.title}`, done);
      }
      return { plan: plan_path, slices: done };
    },
  );
}

async function implement(
  context: WorkflowContext<ExecutePlanConfig>,
  slice: Slice,
  plan: { plan_path: string; agent: string | undefined; total: number },
): Promise<string> {
  const { default_subagent_profile, check, max_retries } = context.config;
  const worker = await context.spawn(plan.agent ?? default_subagent_profile, {
    alias: `slice ${slice.number}: ${slice.title}`,
  });
  const summary = await context.send(worker, prompt(slice, plan));
  if (summary.trim() === "") throw new WorkflowError(`the agent of slice ${slice.number} said nothing`);
  if (check !== "") {
    const retryWith = `The check after slice ${slice.number} failed (exit {exit}). Repair it.\n\n{stdout}\n{stderr}`;
    await context.bashPredicate(check, { retryWith, maxRetries: max_retries, to: worker });
  }
  await context.close(worker);
  return summary;
}

function prompt(slice: Slice, { plan_path, total }: { plan_path: string; total: number }): string {
  return [
    `Implement slice ${slice.number} of ${total} of the plan ${plan_path}: ${slice.title}`,
    slice.body,
    "Do this slice only; other agents do the rest. When it is done, describe your changes in a few sentences.",
  ].join("\n\n");
}
