/** Replaces text in a file. */
import { z } from "zod";
import { replaceFile, smallDiff } from "./change.ts";
import { isBinary, missing, projectPath } from "./paths.ts";
import { defineTool, type Tool, ToolError } from "./tool.ts";

export function editTool(): Tool {
  return defineTool({
    name: "edit",
    description: "Replace text in a file you have read. old_text must match exactly once, unless replace_all is set.",
    kind: "edit",
    effect: "edit",
    input: z.object({
      path: z.string().describe("Path below the project folder"),
      old_text: z.string().min(1).describe("The exact text to replace, without line numbers"),
      new_text: z.string(),
      replace_all: z.boolean().optional(),
    }),
    title: ({ path }) => `Edit ${path}`,
    changes: ({ path, old_text, new_text }) => [{ path, before: old_text, after: new_text, part: true }],
    locations: ({ path }) => [{ path }],
    diff: ({ path, old_text, new_text }) => smallDiff({ path, before: old_text, after: new_text }),
    async run(input, context) {
      const path = await projectPath(context.cwd, input.path);
      const content = await context.seen.forChange(path.real, path.shown);
      if (content === null) throw await missing(path);
      if (isBinary(content)) throw new ToolError(`${path.shown} is a binary file.`);
      const text = content.toString("utf8");
      const { from, to } = withLineEndings(text, input.old_text, input.new_text);
      if (from === to) throw new ToolError("old_text and new_text are the same.");
      const pieces = text.split(from);
      const count = pieces.length - 1;
      if (count === 0)
        throw new ToolError(`old_text was not found in ${path.shown}. It must match exactly, with its white space.`);
      if (count > 1 && input.replace_all !== true)
        throw new ToolError(
          `old_text was found ${count} times in ${path.shown}. Add lines around it until it is unique, or set replace_all.`,
        );
      await replaceFile(path, pieces.join(to), context);
      return {
        output: `Replaced ${count} ${count === 1 ? "place" : "places"} in ${path.shown}.`,
        is_error: false,
        diff: smallDiff({ path: path.shown, before: from, after: to }),
      };
    },
  });
}

/** The model sees lines without their `\r`, so it cannot return it. */
function withLineEndings(text: string, from: string, to: string): { from: string; to: string } {
  const windows = text.includes("\r\n") && !from.includes("\r");
  return windows ? { from: from.replaceAll("\n", "\r\n"), to: to.replace(/\r?\n/g, "\r\n") } : { from, to };
}
