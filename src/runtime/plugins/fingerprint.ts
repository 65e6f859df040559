/** Tells whether anything of a plugin changed, without reading it: names, sizes and times of all its files. */
import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

const maxEntries = 20_000;

export type Fingerprint = {
  key: string;
  /** Every folder that was looked into, to be watched. */
  folders: string[];
  files: string[];
};

/** `place` is a folder or a single file. A file may use what lies beside it under a name with `_`. */
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
      if (entry.name === "node_modules" || !wanted(entry.name)) continue;
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
