/** Lists the files below a folder for completion. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

const ignored = new Set([".git", "node_modules", "dist", ".aegis", ".venv", "target", "__pycache__"]);
const mostFiles = 5_000;

/** Relative paths, nearest first. Folders of tools, links, and names with spaces are left out. */
export async function filesBelow(root: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [""];
  for (let folder = folders.shift(); folder !== undefined && found.length < mostFiles; folder = folders.shift()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !ignored.has(entry.name)) folders.push(path);
      else if (entry.isFile() && found.length < mostFiles && !/\s/.test(path)) found.push(path);
    }
  }
  return found;
}
