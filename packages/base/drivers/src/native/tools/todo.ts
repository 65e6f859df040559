/** Keeps the work plan that people see next to the conversation. */
import { z } from "zod";
import { defineTool, type Tool } from "./tool.ts";

export function todoTool(): Tool {
  return defineTool({
    name: "todo",
    description: "Show your plan for work with several steps. Send the whole list each time something changes.",
    kind: "think",
    effect: "read",
    input: z.object({
      entries: z.array(z.object({ text: z.string().min(1), status: z.enum(["pending", "in_progress", "completed"]) })),
    }),
    title: ({ entries }) => `Plan of ${entries.length} ${entries.length === 1 ? "step" : "steps"}`,
    async run({ entries }) {
      const open = entries.filter((entry) => entry.status !== "completed").length;
      return { output: `The plan is shown: ${open} of ${entries.length} open.`, is_error: false, plan: entries };
    },
  });
}
