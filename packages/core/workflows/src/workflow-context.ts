/** Implements the context that a workflow's body receives, for one run. */
import { inspect } from "node:util";
import type { Json } from "@aegis/contract/run.ts";
import type { RunContext } from "@aegis/engine/engine.ts";
import { WorkflowError } from "@aegis/plugin-api/errors.ts";
import type { WorkflowContext } from "@aegis/plugin-api/workflow-context.ts";
import type { StepDeps } from "./deps.ts";
import { OwnSessions } from "./own-sessions.ts";
import { sessionSteps } from "./session-steps.ts";
import { shellSteps } from "./shell-steps.ts";
import { workSteps } from "./work-steps.ts";

const longestLine = 20_000;

export function workflowContext(
  context: RunContext,
  deps: StepDeps,
  about: {
    host: string | null;
    config: Readonly<Record<string, unknown>>;
  },
): WorkflowContext {
  const own = new OwnSessions();
  if (context.run.host !== null && about.host !== null) own.know(about.host, context.run.host);
  const talk = sessionSteps(context, deps, own);
  return {
    name: context.run.workflow,
    workflowId: context.run.id,
    host: about.host,
    callerHandle: about.host,
    projectRoot: deps.root,
    config: about.config,
    get signal() {
      return context.signal;
    },
    ...talk,
    ...shellSteps(context, deps, talk.send, about.host),
    ...workSteps(context, deps, own),
    parallel: (branches) =>
      context.parallel(branches.map((branch) => async () => (typeof branch === "function" ? branch() : branch))),
    checkpoint: (name, payload) => context.checkpoint(name, payload),
    resumeState: async <T = Json>() => (await context.resumeState()) as T | null,
    sleep: (seconds) => context.sleep(seconds * 1000),
    log(record) {
      const text = typeof record === "string" ? record : inspect(record, { depth: 6, breakLength: 120 });
      context.log(text.length <= longestLine ? text : `${text.slice(0, longestLine)}… (${text.length} characters)`);
    },
    step: (name, work, options = {}) => {
      const fails = options.onUncertain === "fail";
      return context.step(
        { method: "step", args: { name }, label: name },
        {
          // The start is recorded only if a retry is not allowed, because recording costs a write.
          ...(fails ? { begin: async () => ({ value: null }) } : {}),
          async perform({ again }) {
            if (again && fails)
              throw new WorkflowError(`"${name}" was running when Aegis stopped, so it may have taken effect`);
            return work();
          },
        },
      );
    },
  };
}
