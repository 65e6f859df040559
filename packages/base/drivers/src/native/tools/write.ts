/** Writes a whole file. */
import { z } from "zod";
import { replaceFile, smallDiff } from "./change.ts";
import { projectPath } from "./paths.ts";
import { defineTool, type Tool } from "./tool.ts";

export function writeTool(): Tool {
  return defineTool({
    name: "write",
    description: "Write a whole file, new or replaced. An existing file must have been read before. Prefer edit.",
    kind: "edit",
    effect: "edit",
    input: z.object({ path: z.string().describe("Path below the project folder"), content: z.string() }),
    title: ({ path }) => `Write ${path}`,
    changes: ({ path, content }) => [{ path, after: content }],
    locations: ({ path }) => [{ path }],
    async run({ path: wanted, content }, context) {
      const path = await projectPath(context.cwd, wanted);
      const before = await context.seen.forChange(path.real, path.shown);
      await replaceFile(path, content, context);
      const verb = before === null ? "Created" : "Replaced";
      return {
        output: `${verb} ${path.shown} (${Buffer.byteLength(content)} bytes).`,
        is_error: false,
        diff: smallDiff({ path: path.shown, before: before?.toString("utf8") ?? null, after: content }),
      };
    },
  });
}
