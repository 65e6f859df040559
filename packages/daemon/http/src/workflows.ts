import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { RunViews } from "@aegis/workflows/run-views.ts";
import type { Workflows } from "@aegis/workflows/workflows.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type WorkflowServices = {
  workflows: Pick<Workflows, "list" | "get" | "start" | "resume" | "cancel" | "fork" | "launched"> & {
    runs: Pick<RunViews, "list" | "view" | "steps" | "events">;
  };
  sessions: Pick<Sessions, "resolve">;
};

export function workflowHandlers({ workflows, sessions }: WorkflowServices) {
  return {
    listWorkflows: () => ({ workflows: workflows.list() }),
    getWorkflow: ({ path }) => ({ workflow: workflows.get(path.workflow) }),
    async startRun({ path: { workflow }, body }, _signal, caller) {
      const { id, args, text_args: textArgs, callback, within } = body;
      const host = body.host === undefined ? null : (await sessions.resolve(body.host)).id;
      const byClient = caller.kind === "client";
      return { run: await workflows.start({ workflow, id, args, textArgs, host, callback, within, byClient }) };
    },
    async listRuns({ query }) {
      // `aegis --resume` starts the daemon and lists what it resumed.
      await workflows.launched;
      return { runs: await workflows.runs.list(query) };
    },
    getRun: async ({ path }) => ({ run: await workflows.runs.view(path.run) }),
    listSteps: async ({ path, query }) => ({ steps: await workflows.runs.steps(path.run, query.limit) }),
    runEvents: async ({ path, query }) => ({ events: await workflows.runs.events(path.run, query) }),
    resumeRun: async ({ path, body }) => ({ run: await workflows.resume(path.run, body) }),
    cancelRun: async ({ path, body }) => ({ run: await workflows.cancel(path.run, body.reason) }),
    async forkRun({ path, body }) {
      return { run: await workflows.fork(path.run, { id: body.id, checkpoints: body.checkpoint }) };
    },
  } satisfies Partial<Handlers>;
}
