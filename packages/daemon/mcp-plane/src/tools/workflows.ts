/** Tools that run workflows and report their outcome. */

import { isAegisError } from "@aegis/contract/errors.ts";
import { receiptWords } from "@aegis/contract/receipt.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import { type AgentTool, defineTool } from "@aegis/sessions/tools/tools.ts";
import type { Turns } from "@aegis/sessions/turns.ts";
import type { Workflows } from "@aegis/workflows/workflows.ts";
import { z } from "zod";
import { causeOf, checkFromHandle, fromHandle } from "./caller.ts";

export type WorkflowToolsOptions = { workflows: Workflows; turns: Turns };

export function workflowTools({ workflows, turns }: WorkflowToolsOptions): AgentTool[] {
  return [
    defineTool({
      name: "aegis_run_workflow",
      description:
        "Start a workflow without waiting. Its result arrives later as a message `> from workflow:…`. An unknown name lists all workflows.",
      input: z.object({
        name: z.string(),
        kwargs: z.record(z.string(), z.unknown()).default({}),
        callback: z.boolean().default(true).describe("false: no message; use aegis_workflow_status instead"),
        from_handle: fromHandle,
      }),
      readOnly: false,
      // Workflows run commands, some of which use the arguments.
      permission: "write",
      implies: "bash",
      async run({ name, kwargs, callback, from_handle }, context) {
        checkFromHandle(from_handle, context);
        const run = await workflows.start({
          id: derivedId("run", context.key),
          workflow: name,
          args: kwargs,
          host: context.caller.id,
          byAgent: true,
          callback,
          cause: causeOf(context, turns),
        });
        return { workflow_id: run.id, workflow_run_id: run.id, status: "running" };
      },
    }),
    defineTool({
      name: "aegis_workflow_status",
      description: "Get the status of a workflow run.",
      input: z.object({ workflow_id: z.string() }),
      readOnly: true,
      async run({ workflow_id }) {
        try {
          const run = await workflows.runs.view(workflow_id);
          const {
            id,
            workflow: name,
            host_handle: host,
            status,
            phase,
            result,
            error,
            steps_done,
            open,
            receipts,
          } = run;
          const now = open.map((step) => step.label);
          return {
            workflow_id: id,
            name,
            host,
            status,
            phase,
            steps_done,
            ...(now.length === 0 ? {} : { now }),
            ...(receipts.length === 0 ? {} : { receipts: receipts.map(receiptWords) }),
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
