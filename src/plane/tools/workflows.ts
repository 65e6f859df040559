/** Tools to run workflows and to see what became of them. */
import { z } from "zod";
import { isAegisError } from "../../contract/errors.ts";
import { derivedId } from "../../runtime/inbox/derived-id.ts";
import { defineTool, type Tool } from "../../runtime/registry/tools.ts";
import type { Turns } from "../../runtime/sessions/turns.ts";
import type { Workflows } from "../../runtime/workflows/workflows.ts";
import { causeOf, checkFromHandle, fromHandle } from "./caller.ts";

export type WorkflowToolsOptions = { workflows: Workflows; turns: Turns };

export function workflowTools({ workflows, turns }: WorkflowToolsOptions): Tool[] {
  return [
    defineTool({
      name: "aegis_run_workflow",
      description:
        "Run a workflow and go on. Its result arrives later as a message `> from workflow:…`. An unknown name lists all.",
      input: z.object({
        name: z.string(),
        kwargs: z.record(z.string(), z.unknown()).default({}),
        callback: z.boolean().default(true).describe("false: no message, ask aegis_workflow_status instead"),
        from_handle: fromHandle,
      }),
      readOnly: false,
      // Workflows run commands, some of them with what they are given.
      permission: "write",
      implies: "bash",
      async run({ name, kwargs, callback, from_handle }, context) {
        checkFromHandle(from_handle, context);
        const run = await workflows.start({
          id: derivedId("run", context.key),
          workflow: name,
          args: kwargs,
          host: context.caller.id,
          callback,
          cause: causeOf(context, turns),
        });
        return { workflow_id: run.id, workflow_run_id: run.id, status: "running" };
      },
    }),
    defineTool({
      name: "aegis_workflow_status",
      description: "What became of a run of a workflow.",
      input: z.object({ workflow_id: z.string() }),
      readOnly: true,
      async run({ workflow_id }) {
        try {
          const run = await workflows.runs.view(workflow_id);
          const { id, workflow: name, host_handle: host, status, phase, result, error, steps_done, open } = run;
          const now = open.map((step) => step.label);
          return {
            ...{ workflow_id: id, name, host, status, phase, steps_done },
            ...(now.length === 0 ? {} : { now }),
            ...(status === "ok" ? { result } : {}),
            ...(error === null ? {} : { error: error.message }),
            ...(run.parked === null ? {} : { error: run.parked.detail }),
          };
        } catch (error) {
          if (isAegisError(error) && error.code === "not_found") return { workflow_id, status: "unknown" };
          throw error;
        }
      },
    }),
  ];
}
