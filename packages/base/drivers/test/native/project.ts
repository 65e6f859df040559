/** A project folder and the core tools in it, called as the loop calls them. */
import { join } from "node:path";
import { systemClock } from "@aegis/lib/clock.ts";
import { writeAtomic } from "@aegis/lib/files.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { agreed } from "@aegis/test/helpers/consent.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { coreTools } from "../../src/native/tools/core-tools.ts";
import { SeenFiles } from "../../src/native/tools/seen-files.ts";
import { type ToolContext, ToolError, type ToolResult } from "../../src/native/tools/tool.ts";
import { writeProjectFile } from "./seat.ts";

type Use = (name: string, input: unknown) => Promise<ToolResult>;

export async function project(files: Record<string, string> = {}, change: Partial<ToolContext> = {}) {
  const root = await tempDir();
  const dir = join(root, "project");
  await writeProjectFile(dir, ".keep", "");
  for (const [path, content] of Object.entries(files)) await writeProjectFile(dir, path, content);
  const context: ToolContext = {
    cwd: dir,
    signal: new AbortController().signal,
    clock: systemClock,
    processes: createProcesses({
      ledgerFile: join(root, "children.jsonl"),
      owner: root,
      clock: systemClock,
      log: silentLogger,
    }),
    consent: async () => agreed(),
    shellEnv: { PATH: process.env.PATH ?? "" },
    seen: new SeenFiles(),
    writeFile: writeAtomic,
    allowPrivateFetch: false,
    key: "k",
    ...change,
  };
  const tools = new Map(coreTools().map((tool) => [tool.name, tool]));
  /** As the runner does: a refusal is a result. */
  const use: Use = async (name, input) => {
    const prepared = tools.get(name)?.prepare(input) ?? { problem: "no such tool" };
    if ("problem" in prepared) return { output: prepared.problem, is_error: true };
    try {
      return await prepared.run(context);
    } catch (error) {
      if (error instanceof ToolError) return { output: error.message, is_error: true };
      throw error;
    }
  };
  return { dir, root, use, context };
}
