/** Brings a rescue back into a new worktree: files byte for byte, modes, empty folders, operation state and the index. */
import { existsSync } from "node:fs";
import { chmod, mkdir, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { openRepository, type Repository } from "@aegis/lib/git/repository.ts";
import { fields, line, type RunGit, shown } from "@aegis/lib/git/run.ts";
import { pathBytes, type RescueMeta, stateFiles } from "./format.ts";

const timeoutMs = 600_000;
const mostBytes = 2 ** 31 - 1;

export async function readMeta(repository: Repository, ref: string): Promise<RescueMeta> {
  return JSON.parse((await repository.git(["cat-file", "blob", `${ref}:meta.json`])).stdout.toString()) as RescueMeta;
}

/** `dir` must not exist. Returns the branch that is checked out in it, or null. */
export async function restoreRescue(
  run: RunGit,
  repository: Repository,
  { ref, dir }: { ref: string; dir: string },
): Promise<{ branch: string | null }> {
  if (existsSync(dir)) throw new AegisError("conflict", `${dir} exists; a rescue is restored into a new folder`);
  await mkdir(dirname(dir), { recursive: true });
  const meta = await readMeta(repository, ref);
  const commit = meta.head ?? line(await repository.git(["rev-parse", `${ref}^{commit}`]));
  await repository.git(["worktree", "add", "-q", "--detach", "--no-checkout", "--lock", dir, commit]);
  const own = await openRepository(run, dir);
  await writeFiles(repository, `${ref}:worktree`, dir, meta);
  const top = fields((await repository.git(["ls-tree", "-z", "--name-only", ref])).stdout);
  if (top.includes("state"))
    for (const { oid, path } of await treeRows(repository, `${ref}:state`)) {
      requirePlain(path);
      if (!stateFiles.some((known) => path === known || path.startsWith(`${known}/`))) continue;
      const place = join(own.gitDir, path);
      await mkdir(dirname(place), { recursive: true });
      await writeFile(place, (await repository.git(["cat-file", "blob", oid])).stdout);
    }
  const branch = await attach(own, meta);
  const index = join(own.gitDir, "index");
  if (!top.includes("index")) await rm(index, { force: true });
  else {
    await writeFile(index, (await repository.git(["cat-file", "blob", `${ref}:index`])).stdout);
    if (meta.index_seconds !== null) await utimes(index, meta.index_seconds, meta.index_seconds);
  }
  return { branch };
}

/** A repository may come with a rescue that Aegis did not write: no file may leave the folder or enter `.git`. */
function requirePlain(path: string, links: ReadonlySet<string> = new Set()): void {
  const parts = path.split("/");
  const isPlain = parts.every((part) => !["", ".", "..", ".git"].includes(part.toLowerCase()));
  const above = parts.slice(1).map((_, at) => parts.slice(0, at + 1).join("/"));
  if (!isPlain || above.some((folder) => links.has(folder)))
    throw new AegisError("forbidden", `the rescue is damaged: ${JSON.stringify(shown(path))} is outside its folder`);
}

type TreeRow = { mode: string; oid: string; path: string };

async function treeRows({ git }: Repository, tree: string): Promise<TreeRow[]> {
  return fields((await git(["ls-tree", "-r", "-z", "--full-tree", tree])).stdout).map((entry) => {
    const [mode = "", , oid = ""] = entry.slice(0, entry.indexOf("\t")).split(" ");
    return { mode, oid, path: entry.slice(entry.indexOf("\t") + 1) };
  });
}

/** Never through a checkout, which would convert line ends and run filters. */
async function writeFiles(repository: Repository, tree: string, dir: string, meta: RescueMeta): Promise<void> {
  const rows = await treeRows(repository, tree);
  const links = new Set(rows.filter(({ mode }) => mode === "120000").map(({ path }) => path));
  for (const path of [...rows.map((row) => row.path), ...meta.dirs]) requirePlain(path, links);
  for (const path of meta.dirs) await mkdir(pathBytes(dir, path), { recursive: true });
  if (rows.length === 0) return;
  const input = `${rows.map(({ oid }) => oid).join("\n")}\n`;
  const { stdout } = await repository.git(["cat-file", "--batch"], { input, maxBytes: mostBytes, timeoutMs });
  let at = 0;
  for (const { mode, path } of rows) {
    const end = stdout.indexOf(10, at);
    const size = Number(stdout.subarray(at, end).toString().split(" ")[2]);
    const body = stdout.subarray(end + 1, end + 1 + size);
    at = end + 2 + size;
    const place = pathBytes(dir, path);
    const folder = path.lastIndexOf("/");
    if (folder !== -1) await mkdir(pathBytes(dir, path.slice(0, folder)), { recursive: true });
    if (mode === "120000") await symlink(body, place);
    else {
      const [bits = 0o644, nanoseconds = "0"] = meta.modes[path] ?? [];
      await writeFile(place, body, { flag: "wx" });
      await chmod(place, bits);
      const seconds = Number(BigInt(nanoseconds) / 1_000_000n) / 1000;
      await utimes(place, seconds, seconds);
    }
  }
}

/** Puts HEAD back on its branch, unless another worktree has the branch or it has moved. */
async function attach(own: Repository, { branch, head }: RescueMeta): Promise<string | null> {
  if (branch === null) return null;
  const listed = fields((await own.git(["worktree", "list", "--porcelain", "-z"])).stdout);
  const now = await own.git(["rev-parse", "-q", "--verify", branch], { codes: [0, 1, 128] });
  const tip = now.code === 0 ? line(now) : null;
  if (listed.includes(`branch ${branch}`) || (tip !== null && tip !== head)) return null;
  // The branch was dropped with the worktree, because its commits were all elsewhere.
  if (tip === null && head !== null) await own.git(["update-ref", branch, head, ""]);
  await own.git(["symbolic-ref", "HEAD", branch]);
  return branch;
}
