/** A project folder for one test, from a map of files. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problem.ts";

export const harnesses = ["claude-code", "codex", "acp", "native", "scripted"];

export type TestProject = {
  root: string;
  harnesses: readonly string[];
  write(file: string, content: string | Uint8Array): Promise<void>;
  read(file?: string): Promise<string>;
};

export async function createProject(files: Record<string, string | Uint8Array> = {}): Promise<TestProject> {
  const root = await tempDir();
  const write = async (file: string, content: string | Uint8Array) => {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), content);
  };
  for (const [file, content] of Object.entries(files)) await write(file, content);
  return { root, harnesses, write, read: (file = ".aegis.yaml") => readFile(join(root, file), "utf8") };
}

/** The problems of a project as lines. */
export async function problemsIn(files: Record<string, string | Uint8Array>): Promise<string[]> {
  const { root } = await createProject(files);
  const { problems, config } = await loadConfig({ cwd: root, harnesses });
  if ((config === null) !== problems.length > 0)
    throw new Error("there is a config exactly when there are no problems");
  return problems.map(formatProblem);
}
