/** Detects changes of a plugin by the names, sizes and times of its files, without reading them. */
import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

const maxEntries = 20_000;

export type Fingerprint = {
  key: string;
  /** All visited folders, to be watched. */
  folders: string[];
  files: string[];
};

/** The folders to watch for a plugin in `place`, at most `most`. Empty if the folder does not exist. */
export async function foldersOf(place: string, most: number): Promise<string[]> {
  const { folders } = await fingerprint(place).catch(() => ({ folders: [] }));
  return folders.slice(0, most);
}

/** `place` is a folder or a single file. A single file may use files beside it whose names start with `_`. */
export async function fingerprint(place: string): Promise<Fingerprint> {
  const isFolder = (await stat(place)).isDirectory();
  const root = isFolder ? place : dirname(place);
  const rows: string[] = [];
  const folders: string[] = [];
  const files: string[] = [];
  const walk = async (folder: string, wanted: (name: string) => boolean): Promise<void> => {
    folders.push(folder);
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (rows.length >= maxEntries) return;
      if (entry.name.startsWith(".") && entry.name !== ".claude-plugin") continue;
      if (entry.name === "node_modules" || entry.name === "__pycache__" || !wanted(entry.name)) continue;
      const path = join(folder, entry.name);
      const stats = await stat(path).catch(() => null);
      if (stats === null) continue;
      if (stats.isDirectory()) await walk(path, () => true);
      else {
        files.push(path);
        rows.push(`${path}\0${stats.size}\0${stats.mtimeMs}\0${stats.ino}\0${stats.mode}`);
      }
    }
  };
  await walk(root, isFolder ? () => true : (name) => join(root, name) === place || name.startsWith("_"));
  return { key: createHash("sha256").update(rows.join("\n")).digest("hex"), folders, files };
}
