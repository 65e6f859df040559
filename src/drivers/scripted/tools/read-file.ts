import { z } from "zod";
import { projectPath, readText } from "./project-files.ts";
import { defineProjectTool, plural, toolError, toolOutput } from "./project-tool.ts";

const maxCharacters = 20_000;

export const readProjectFile = defineProjectTool({
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
