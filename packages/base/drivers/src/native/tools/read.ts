/** Reads a text file of the project with line numbers. */
import { readFile, stat } from "node:fs/promises";
import { isErrno } from "@aegis/lib/files.ts";
import { z } from "zod";
import { capText } from "./cap.ts";
import { isBinary, missing, projectPath } from "./paths.ts";
import { defineTool, done, type Tool, ToolError } from "./tool.ts";

const defaultLines = 2000;
const longestLine = 2000;
const largestFile = 10 * 1024 * 1024;

export function readTool(): Tool {
  return defineTool({
    name: "read",
    description: "Read a text file. Lines come numbered; use offset and limit for long files.",
    kind: "read",
    effect: "read",
    input: z.object({
      path: z.string().describe("Path below the project folder"),
      offset: z.number().int().min(1).optional().describe("First line, from 1"),
      limit: z.number().int().min(1).optional().describe(`Number of lines, ${defaultLines} by default`),
    }),
    title: ({ path }) => `Read ${path}`,
    locations: ({ path, offset }) => [{ path, ...(offset === undefined ? {} : { line: offset }) }],
    async run(input, context) {
      const path = await projectPath(context.cwd, input.path);
      const info = await stat(path.real).catch(async (error) => {
        throw isErrno(error, "ENOENT", "ENOTDIR") ? await missing(path) : error;
      });
      if (info.isDirectory()) throw new ToolError(`${path.shown} is a folder. Use ls.`);
      if (!info.isFile()) throw new ToolError(`${path.shown} is not a regular file.`);
      if (info.size > largestFile)
        throw new ToolError(`${path.shown} has ${info.size} bytes, more than ${largestFile}. Use grep to search it.`);
      const content = await readFile(path.real);
      if (isBinary(content)) throw new ToolError(`${path.shown} is a binary file (${info.size} bytes).`);
      context.seen.note(path.real, content);
      return done(numbered(content.toString("utf8"), input.offset ?? 1, input.limit ?? defaultLines));
    },
  });
}

function numbered(text: string, offset: number, limit: number): string {
  if (text === "") return "(the file is empty)";
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  const wanted = lines.slice(offset - 1, offset - 1 + limit);
  if (wanted.length === 0) return `(the file has ${lines.length} lines; there is no line ${offset})`;
  const body = wanted.map((line, index) => `${offset + index}\t${shown(line)}`).join("\n");
  const last = offset - 1 + wanted.length;
  const more =
    last < lines.length ? `\n[lines ${offset}-${last} of ${lines.length}; continue with offset ${last + 1}]` : "";
  return capText(body, "Read fewer lines with offset and limit.") + more;
}

function shown(line: string): string {
  if (line.length <= longestLine) return line;
  return `${line.slice(0, longestLine)} [cut: ${line.length - longestLine} more characters]`;
}
