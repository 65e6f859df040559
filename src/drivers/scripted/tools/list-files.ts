import { matchesGlob } from "node:path";
import { z } from "zod";
import { projectFiles } from "./project-files.ts";
import { cutList, defineProjectTool, plural, toolOutput } from "./project-tool.ts";

const maxShown = 200;

export const listFiles = defineProjectTool({
  name: "list_files",
  kind: "search",
  writes: false,
  input: z.strictObject({ glob: z.string().optional() }),
  title: ({ glob }) => (glob === undefined ? "List files" : `List files ${glob}`),
  async run({ glob }, { root, signal }) {
    const { paths, cut } = await projectFiles(root, signal);
    const found = glob === undefined ? paths : paths.filter((path) => matchesGlob(path, glob));
    const heading = `${plural(found.length, "file")}${cut ? " or more" : ""}${glob === undefined ? "" : ` like ${glob}`}`;
    return toolOutput(cutList(heading, found, maxShown));
  },
});
