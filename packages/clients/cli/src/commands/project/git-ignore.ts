/** Keeps machine-specific files out of the project's git repository. */
import { existsSync } from "node:fs";
import { appendFile, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifMissing } from "@aegis/lib/files.ts";

const privatePaths = [".aegis/state/", ".aegis.local.yaml"];

/** Returns the added lines: none if the folder is not in a git work tree or already ignores them. */
export async function ignoreInGit(root: string): Promise<string[]> {
  if (!inGitWorkTree(root)) return [];
  const path = join(root, ".gitignore");
  const text = await readFile(path, "utf8").catch(ifMissing(""));
  const lines = new Set(text.split(/\r?\n/).map((line) => line.trim()));
  const missing = privatePaths.filter((entry) => !lines.has(entry) && !lines.has(`/${entry}`));
  if (missing.length === 0) return [];
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const lead = text === "" || text.endsWith("\n") ? "" : end;
  await appendFile(path, lead + missing.map((entry) => entry + end).join(""));
  return missing;
}

function inGitWorkTree(folder: string): boolean {
  if (existsSync(join(folder, ".git"))) return true;
  return dirname(folder) !== folder && inGitWorkTree(dirname(folder));
}
