/** The offline agent's own tools. */
import { mkdir } from "node:fs/promises";
import { dirname, extname, matchesGlob } from "node:path";
import { z } from "zod";
import { LeftOut, projectFiles, projectPath, projectTexts, readText } from "./project-files.ts";
import { cutList, defineProjectTool, type ProjectTool, plural, toolError, toolOutput } from "./project-tool.ts";

const maxFilesShown = 200;
const maxRowsShown = 100;
const maxLineLength = 200;
const maxCharacters = 20_000;
/** A wrong rule must not overwrite code. */
const extensions = [".md", ".txt"];

const listFiles = defineProjectTool({
  name: "list_files",
  kind: "search",
  writes: false,
  input: z.strictObject({ glob: z.string().optional() }),
  title: ({ glob }) => (glob === undefined ? "List files" : `List files ${glob}`),
  async run({ glob }, { root, signal }) {
    const { paths, cut } = await projectFiles(root, signal);
    const found = glob === undefined ? paths : paths.filter((path) => matchesGlob(path, glob));
    const heading = `${plural(found.length, "file")}${cut ? " or more" : ""}${glob === undefined ? "" : ` like ${glob}`}`;
    return toolOutput(cutList(heading, found, maxFilesShown));
  },
});

/** Searches for plain words: a regular expression from a message could block the daemon forever. */
const grep = defineProjectTool({
  name: "grep",
  kind: "search",
  writes: false,
  input: z.strictObject({ pattern: z.string().min(1) }),
  title: ({ pattern }) => `Search for ${pattern}`,
  async run({ pattern }, { root, signal }) {
    const words = pattern.toLowerCase();
    const files = await projectFiles(root, signal);
    const leftOut = new LeftOut(files);
    const matches: string[] = [];
    let filesWithMatch = 0;
    for await (const { path, lines } of projectTexts(root, files, leftOut, signal)) {
      const before = matches.length;
      for (const [index, line] of lines.entries()) {
        if (!line.toLowerCase().includes(words)) continue;
        matches.push(`${path}:${index + 1}: ${line.trim().slice(0, maxLineLength)}`);
      }
      if (matches.length > before) filesWithMatch += 1;
    }
    const heading = `${plural(matches.length, "match", "matches")} in ${plural(filesWithMatch, "file")}`;
    return toolOutput([cutList(heading, matches, maxRowsShown), ...leftOut.lines()].join("\n"));
  },
});

const countTodos = defineProjectTool({
  name: "count_todos",
  kind: "search",
  writes: false,
  input: z.strictObject({}),
  title: () => "Count TODOs",
  async run(_, { root, signal }) {
    const files = await projectFiles(root, signal);
    const leftOut = new LeftOut(files);
    const counts: { path: string; count: number }[] = [];
    for await (const { path, lines } of projectTexts(root, files, leftOut, signal)) {
      const count = lines.reduce((sum, line) => sum + (line.match(/\bTODO\b/g)?.length ?? 0), 0);
      if (count > 0) counts.push({ path, count });
    }
    counts.sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1));
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    // In lower case, so that a report of this result is not counted the next time.
    const heading = `${plural(total, "todo")} in ${plural(counts.length, "file")}`;
    const rows = counts.map(({ path, count }) => `- ${path}: ${count}`);
    return toolOutput([cutList(heading, rows, maxRowsShown), ...leftOut.lines()].join("\n"));
  },
});

const readProjectFile = defineProjectTool({
  name: "read_file",
  kind: "read",
  writes: false,
  input: z.strictObject({ path: z.string().min(1) }),
  title: ({ path }) => `Read ${path}`,
  path: ({ path }) => path,
  async run({ path }, { root }) {
    const place = await projectPath(root, path);
    if ("problem" in place) return toolError(place.problem);
    const text = await readText(place.real);
    if (typeof text !== "string") return toolError(`cannot read ${path}: ${problems[text.problem]}`);
    const lineCount = text === "" ? 0 : text.trimEnd().split("\n").length;
    const rest = text.length - maxCharacters;
    return toolOutput(
      [
        `${path}, ${plural(lineCount, "line")}:`,
        text.slice(0, maxCharacters).trimEnd(),
        ...(rest > 0 ? [`(${plural(rest, "more character")} not shown)`] : []),
      ].join("\n"),
    );
  },
});

const problems = {
  binary: "it is not a text file",
  large: "it is too large",
  unreadable: "there is no such file, or it may not be read",
};

const writeReport = defineProjectTool({
  name: "write_report",
  kind: "edit",
  writes: true,
  input: z.strictObject({ path: z.string().min(1), text: z.string() }),
  title: ({ path }) => `Write ${path}`,
  path: ({ path }) => path,
  changes: ({ path, text }) => [{ path, after: text }],
  async run({ path, text }, { root, writeFile }) {
    if (!extensions.includes(extname(path))) return toolError(`${path}: a report ends in ${extensions.join(" or ")}`);
    const place = await projectPath(root, path);
    if ("problem" in place) return toolError(place.problem);
    const before = await readText(place.real);
    await mkdir(dirname(place.real), { recursive: true });
    await writeFile(place.real, text);
    return {
      output: `wrote ${path}`,
      is_error: false,
      diff: { path, before: typeof before === "string" ? before : null, after: text },
    };
  },
});

export const projectTools: readonly ProjectTool[] = [listFiles, grep, countTodos, readProjectFile, writeReport];
