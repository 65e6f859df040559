/** Searches the project's text files for a regular expression. */
import { readFile, stat } from "node:fs/promises";
import { createContext, Script } from "node:vm";
import { errorText } from "@aegis/lib/log.ts";
import { z } from "zod";
import { capText } from "./cap.ts";
import { matchesPattern, type WalkedEntry, walk } from "./glob.ts";
import { isBinary, missing, type ProjectPath, projectPath } from "./paths.ts";
import { defineTool, done, type Tool, type ToolContext, ToolError } from "./tool.ts";

const mostMatches = 200;
const largestFile = 2 * 1024 * 1024;
const longestLine = 400;
/** The time limit per file: a pattern with catastrophic backtracking must not block the daemon. */
const fileTimeoutMs = 200;

export function grepTool(): Tool {
  return defineTool({
    name: "grep",
    description:
      "Search text files for a JavaScript regular expression. Gives path:line:text. .git and node_modules are skipped.",
    kind: "search",
    effect: "read",
    input: z.object({
      pattern: z.string().min(1),
      path: z.string().optional().describe("File or folder to search, the project by default"),
      include: z.string().optional().describe("Only files that match this glob, such as *.ts"),
      ignore_case: z.boolean().optional(),
    }),
    title: ({ pattern }) => `Search ${pattern}`,
    locations: ({ path }) => (path === undefined ? [] : [{ path }]),
    async run({ pattern, path = ".", include, ignore_case }, context) {
      const match = matcher(pattern, ignore_case === true);
      const found: string[] = [];
      for await (const file of files(await projectPath(context.cwd, path), context)) {
        if (include !== undefined && !matchesPattern(file.relative, include)) continue;
        const text = await textOf(file.path);
        if (text === null) continue;
        for (const { line, content } of match(text, mostMatches + 1 - found.length))
          found.push(`${file.relative}:${line}:${content}`);
        if (found.length > mostMatches) break;
      }
      if (found.length === 0) return done(`No match for ${pattern} in ${path}.`);
      const cut = found.length > mostMatches;
      const rows = found.slice(0, mostMatches).join("\n");
      const note = cut ? `\n[cut at ${mostMatches} matches; use a narrower pattern, path or include]` : "";
      return done(capText(rows, "Use a narrower pattern, path or include.") + note);
    },
  });
}

async function* files(start: ProjectPath, context: ToolContext): AsyncGenerator<WalkedEntry> {
  const info = await stat(start.real).catch(() => null);
  if (info === null) throw await missing(start);
  if (info.isFile()) return yield { path: start.real, relative: start.shown };
  const prefix = start.shown === "." ? "" : `${start.shown}/`;
  for await (const file of walk(start.real, context.signal)) yield { ...file, relative: prefix + file.relative };
}

async function textOf(path: string): Promise<string | null> {
  const info = await stat(path).catch(() => null);
  if (info === null || info.size > largestFile) return null;
  const content = await readFile(path).catch(() => null);
  return content === null || isBinary(content) ? null : content.toString("utf8");
}

type Match = { line: number; content: string };

/** Runs in a separate context only because that supports a timeout. */
function matcher(pattern: string, ignoreCase: boolean): (text: string, most: number) => Match[] {
  let expression: RegExp;
  try {
    expression = new RegExp(pattern, ignoreCase ? "i" : "");
  } catch (error) {
    throw new ToolError(`${errorText(error)}. Escape special characters with a backslash.`);
  }
  const sandbox = createContext({ expression, lines: [] as string[], most: 0, hits: [] as number[] });
  const script = new Script(
    "for (let i = 0; i < lines.length && hits.length < most; i++) if (expression.test(lines[i])) hits.push(i);",
  );
  return (text, most) => {
    const lines = text.split(/\r?\n/);
    const hits: number[] = [];
    Object.assign(sandbox, { lines, most, hits });
    try {
      script.runInContext(sandbox, { timeout: fileTimeoutMs });
    } catch {
      throw new ToolError(`The pattern ${pattern} takes too long to match. Use a simpler one.`);
    }
    return hits.map((index) => ({ line: index + 1, content: shown(lines[index] ?? "") }));
  };
}

function shown(line: string): string {
  return line.length <= longestLine ? line : `${line.slice(0, longestLine)} [cut]`;
}
