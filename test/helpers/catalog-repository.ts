/** A small git repository whose branch is one commit ahead of main. */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AegisProject, aegisProject } from "./aegis.ts";

export async function branchedRepository(files: Record<string, string>): Promise<AegisProject> {
  const project = await aegisProject(files);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...args], {
      cwd: project.root,
      env: project.env,
    });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "begin");
  git("checkout", "-qb", "feature");
  await writeFile(join(project.root, "new.txt"), "new\n");
  git("add", "new.txt");
  git("commit", "-qm", "new");
  return project;
}
