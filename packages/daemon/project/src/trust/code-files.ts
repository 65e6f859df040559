/** Which files of a project can run. */
import { open, readdir, realpath, stat } from "node:fs/promises";
import { extname, join } from "node:path";

const code = new Set(
  (
    "js cjs mjs jsx ts cts mts tsx py pyc pyw pyo pyd sh bash zsh ksh csh fish rb pl pm php phar lua r tcl awk sed " +
    "bat cmd ps1 psm1 vbs exe dll so dylib node wasm jar class war groovy kts go rs c cc cpp h hpp cs fs java kt " +
    "scala swift ex exs erl clj hs ml jl dart nim zig mk cmake gradle nix"
  ).split(" "),
);
/** They decide what others run. */
const deciding =
  /^(?:package\.json|deno\.jsonc?|pyproject\.toml|setup\.(?:cfg|py)|tox\.ini|Cargo\.toml|go\.mod|pom\.xml|build\.sbt|composer\.json|(?:GNU)?[Mm]akefile|[Jj]ustfile|Rakefile|Gemfile|Taskfile\.ya?ml|mise\.toml|\.envrc|\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.cjs|turbo\.json|nx\.json)$/;
const data = /\.(?:log|db|db-\w+|sqlite3?|sqlite3?-\w+|csv|tsv|jsonl|ndjson|pid|lock|sock|out|err|parquet)$/i;

export const mostCodeFiles = 5_000;
const mostBytes = 100_000_000;
/** The state of Aegis, packages and objects of git change by themselves. */
const skipped = new Set(["node_modules", ".git", "state", "worktrees"]);

/** By its name, by its rights, or by its first line. */
export async function isCode(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => null);
  if (info?.isFile() !== true) return false;
  return hasCodeName(path) || (info.mode & 0o111) !== 0 || (await beginsAsScript(path));
}

/** Programs write such files; they run only as the script of an interpreter. */
export function isDataName(path: string): boolean {
  return data.test(path);
}

function hasCodeName(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return code.has(extname(name).slice(1).toLowerCase()) || deciding.test(name);
}

async function beginsAsScript(path: string): Promise<boolean> {
  const file = await open(path).catch(() => null);
  if (file === null) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer.toString("latin1") === "#!";
  } finally {
    await file.close();
  }
}

/** The files below a folder that can run, as paths relative to it; null if there are too many to read at each start. */
export async function codeFiles(folder: string): Promise<string[] | null> {
  const found: string[] = [];
  let bytes = 0;
  const folders = [""];
  for (let below = folders.pop(); below !== undefined; below = folders.pop()) {
    for (const entry of await readdir(join(folder, below), { withFileTypes: true }).catch(() => [])) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) {
        const isOwn = below === ".aegis" || entry.name === "node_modules" || entry.name === ".git";
        if (!(isOwn && skipped.has(entry.name))) folders.push(path);
        continue;
      }
      // A link counts with what it leads to.
      const real = await realpath(join(folder, path)).catch(() => null);
      if (real === null || !(hasCodeName(path) || (await isCode(real)))) continue;
      const info = await stat(real);
      if (!info.isFile()) continue;
      bytes += info.size;
      found.push(path);
      if (found.length > mostCodeFiles || bytes > mostBytes) return null;
    }
  }
  return found.sort();
}
