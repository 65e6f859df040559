import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type WorkflowHandlers = Pick<
  Handlers,
  | "listWorkflows"
  | "getWorkflow"
  | "startRun"
  | "listRuns"
  | "getRun"
  | "listSteps"
  | "runEvents"
  | "resumeRun"
  | "cancelRun"
  | "forkRun"
>;

export function workflowHandlers({ workflows, sessions }: Services): WorkflowHandlers {
  return {
    listWorkflows: () => ({ workflows: workflows.list() }),
    getWorkflow: ({ path }) => ({ workflow: workflows.get(path.workflow) }),
    async startRun({ path, body }) {
      const { id, args, text_args: textArgs, callback, within } = body;
      const host = body.host === undefined ? null : (await sessions.resolve(body.host)).id;
      return { run: await workflows.start({ workflow: path.workflow, id, args, textArgs, host, callback, within }) };
    },
    listRuns: async ({ query }) => ({ runs: await workflows.runs.list(query) }),
    getRun: async ({ path }) => ({ run: await workflows.runs.view(path.run) }),
    listSteps: async ({ path, query }) => ({ steps: await workflows.runs.steps(path.run, query.limit) }),
    runEvents: async ({ path, query }) => ({ events: await workflows.runs.events(path.run, query) }),
    resumeRun: async ({ path, body }) => ({ run: await workflows.resume(path.run, body) }),
    cancelRun: async ({ path, body }) => ({ run: await workflows.cancel(path.run, body.reason) }),
    async forkRun({ path, body }) {
      return { run: await workflows.fork(path.run, { id: body.id, checkpoints: body.checkpoint }) };
    },
  };
}
