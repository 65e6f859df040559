/** Runs the steps of a rule. */
import { containedPath } from "../../lib/files.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { DriverEvent, TurnEnded } from "../driver.ts";
import { judge } from "../tool-approval.ts";
import type { Step, Steps } from "./playbook/schema.ts";
import { render, renderDeep } from "./playbook/template.ts";
import type { StepContext } from "./step-context.ts";
import { callTool } from "./tool-step.ts";

/** Whether the next step runs, the rest of the rule is skipped, or the turn ends, and how. */
export type StepOutcome = "next" | "leave rule" | Pick<TurnEnded, "reason" | "error">;

type StepRun = AsyncGenerator<DriverEvent, StepOutcome>;

export async function* runStep(step: Step, context: StepContext): StepRun {
  const text = (template: string) => render(template, context.values);
  if ("say" in step) {
    yield { type: "text", message: context.id, text: text(step.say) };
    return "next";
  }
  if ("stream" in step) return yield* stream(step, context);
  if ("think" in step) {
    yield { type: "thinking", message: context.id, text: text(step.think) };
    return "next";
  }
  if ("ask" in step) return await ask(step, context);
  if ("tool" in step) {
    const name = text(step.tool);
    const { output, is_error } = yield* callTool(name, renderDeep(step.input, context.values), context);
    if (step.save !== undefined) context.values[step.save] = output;
    if (!is_error) return "next";
    // Later steps rely on this one: continuing would claim what did not happen.
    yield { type: "text", message: `${context.id}/error`, text: `${name} failed: ${output}` };
    return "leave rule";
  }
  if ("wait" in step) return await wait(step, context);
  if ("fail" in step) return { reason: "failed", error: { code: step.code, message: text(step.fail) } };
  if ("refuse" in step) {
    yield { type: "text", message: context.id, text: text(step.refuse) };
    return { reason: "refused", error: null };
  }
  if ("die" in step) {
    const message = "the offline agent ended, as its playbook specifies";
    return { reason: "failed", error: { code: "died", message, stderr: text(step.die) } };
  }
  return await untilAborted(new Promise<never>(() => {}), context.signal);
}

/** Text that was written before an abort is kept. */
async function* stream(step: Steps["stream"], { id, values, clock, signal }: StepContext): StepRun {
  const characters = [...render(step.stream, values)];
  let said = "";
  try {
    for (let start = 0; start < characters.length; start += step.chunk) {
      const text = characters.slice(start, start + step.chunk).join("");
      said += text;
      yield { type: "text_delta", message: id, text };
      await clock.sleep(step.delay, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  yield { type: "text", message: id, text: said };
  return "next";
}

async function ask(step: Steps["ask"], { id, values, spec, signal }: StepContext): Promise<StepOutcome> {
  const request = {
    call: id,
    tool: render(step.tool, values),
    kind: "other" as const,
    title: render(step.ask, values),
    input: renderDeep(step.input, values),
  };
  const answer = await judge(spec.host, request, null, signal);
  signal.throwIfAborted();
  if (step.save !== undefined) values[step.save] = answer.decision === "allow" ? "allowed" : "denied";
  return "next";
}

async function wait(step: Steps["wait"], { values, spec, clock, gates, signal }: StepContext): Promise<StepOutcome> {
  if (typeof step.wait === "number") {
    await clock.sleep(step.wait, signal);
    return "next";
  }
  const path = render(step.wait.gate, values);
  const gate = await containedPath(spec.cwd, path);
  if (gate === null) return { reason: "failed", error: { code: "start", message: `${path} is outside the project` } };
  await gates.passed(gate, signal);
  return "next";
}
