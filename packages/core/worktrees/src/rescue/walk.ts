/** Lists everything in a working tree that a rescue contains. Follows no links and enters no nested repository. */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync } from "node:fs";
import { pathBytes } from "./format.ts";

export type WalkedTree = { files: string[]; dirs: string[]; nested: string[] };

/** Paths have one character per byte. `ignored` are left out. */
export function walk(root: string, ignored: ReadonlySet<string>): WalkedTree {
  const found: WalkedTree = { files: [], dirs: [], nested: [] };
  const visit = (folder: string): void => {
    const place = folder === "" ? Buffer.from(root) : pathBytes(root, folder);
    const entries = readdirSync(place, { encoding: "buffer", withFileTypes: true });
    if (entries.length === 0 && folder !== "") found.dirs.push(folder);
    for (const entry of entries) {
      const path = `${folder === "" ? "" : `${folder}/`}${entry.name.toString("latin1")}`;
      if (path === ".git" || ignored.has(path)) continue;
      if (!entry.isDirectory()) found.files.push(path);
      else if (existsSync(pathBytes(root, `${path}/.git`))) found.nested.push(path);
      else visit(path);
    }
  };
  visit("");
  return found;
}

/** Changes whenever a file, a mode or a folder changes. */
export function fingerprint(root: string, { files, dirs, nested }: WalkedTree): string {
  const hash = createHash("sha256");
  for (const path of files) {
    const { mode, size, mtimeNs, ctimeNs, ino } = lstatSync(pathBytes(root, path), { bigint: true });
    hash.update(`${path}\0${mode} ${size} ${mtimeNs} ${ctimeNs} ${ino}\n`);
  }
  return hash.update(JSON.stringify([dirs, nested])).digest("hex");
}
