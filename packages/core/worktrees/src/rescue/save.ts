/**
 * Stores a working tree with its index as a commit below `refs/aegis/rescue`. The reference is created last, after the
 * objects are on disk and the files were found unchanged; only then may anything be removed.
 */
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { hasChanges } from "@aegis/lib/git/nested.ts";
import type { Repository } from "@aegis/lib/git/repository.ts";
import { fields, line, shown } from "@aegis/lib/git/run.ts";
import { commitTree } from "../commits.ts";
import { pathBytes, type RescueMeta, stateFiles } from "./format.ts";
import { fingerprint, walk } from "./walk.ts";

export type SaveOptions = { ref: string; handle: string; reason: string };
export type SavedTree = { ref: string; commit: string; files: number; skipped: string[] };

/** Without these settings git does not wait until objects and references are on disk. */
const durable = ["-c", "core.fsync=all", "-c", "core.fsyncMethod=batch"];
const timeoutMs = 600_000;
const attempts = 5;
const longestLog = "200";

type Row = { mode: string; oid: string; path: string };

/** Throws `conflict` if something cannot be stored; then there is no reference. */
export async function saveRescue(repository: Repository, options: SaveOptions): Promise<SavedTree> {
  const ignored = await ignoredPaths(repository);
  for (let attempt = 1; ; attempt++) {
    const walked = walk(repository.root, ignored);
    const before = fingerprint(repository.root, walked);
    await requireClean(repository, walked.nested);
    const { rows, modes, skipped } = await blobs(repository, walked.files);
    const index = await indexEntries(repository);
    const state = await operationState(repository);
    const head = await verified(repository, "HEAD^{commit}");
    const symbolic = await repository.git(["symbolic-ref", "-q", "HEAD"], { codes: [0, 1] });
    const meta: RescueMeta = {
      v: 1,
      handle: options.handle,
      reason: options.reason,
      head,
      branch: symbolic.code === 0 ? line(symbolic) : null,
      modes,
      dirs: walked.dirs,
      nested: walked.nested,
      skipped,
      index_seconds: index.seconds,
    };
    const entries = [
      ...index.entries,
      ...(state.length === 0 ? [] : [treeEntry(await treeFrom(repository, state), "state")]),
      treeEntry(await treeFrom(repository, rows), "worktree"),
      blobEntry(await hashed(repository, Buffer.from(JSON.stringify(meta))), "meta.json"),
    ];
    const tree = line(await repository.git([...durable, "mktree", "--missing", "-z"], { input: entries.join("") }));
    const commit = await commitTree(repository, {
      tree,
      parents: await parents(repository, head),
      message: `Rescue of ${options.handle}: ${options.reason}\n`,
    });
    const after = fingerprint(repository.root, walk(repository.root, ignored));
    if (after !== before && attempt < attempts) continue;
    if (after !== before) throw new AegisError("conflict", "its files keep changing, so they could not be stored");
    // The empty value: the reference must not exist yet.
    await repository.git([...durable, "update-ref", "--create-reflog", "-m", options.reason, options.ref, commit, ""]);
    return { ref: options.ref, commit, files: rows.length, skipped: skipped.map(shown) };
  }
}

async function ignoredPaths({ git }: Repository): Promise<Set<string>> {
  const args = ["ls-files", "-o", "-i", "--exclude-standard", "--directory", "-z"];
  return new Set(fields((await git(args)).stdout).map((path) => path.replace(/\/$/, "")));
}

/** A nested repository is not stored. It is left out only if it has nothing that is not elsewhere. */
async function requireClean(repository: Repository, nested: readonly string[]): Promise<void> {
  for (const field of nested) {
    const path = shown(field);
    if (!(await hasNothingOfItsOwn(repository, path)))
      throw new AegisError("conflict", `the nested repository ${path} has work that is nowhere else`, {
        hint: `commit and push it, or move ${path} out of the worktree`,
      });
  }
}

async function hasNothingOfItsOwn(repository: Repository, path: string): Promise<boolean> {
  const inner = await repository.nested(path).catch(() => null);
  if (inner === null) return false;
  if (await hasChanges(inner)) return false;
  const commits = await inner.git(["rev-list", "-n", "1", "--all", "HEAD", "--not", "--remotes"], {
    codes: [0, 128],
  });
  return commits.code === 0 && commits.stdout.length === 0;
}

async function blobs(repository: Repository, files: readonly string[]) {
  const rows: Row[] = [];
  const plain: { path: string; mode: number }[] = [];
  const modes: RescueMeta["modes"] = {};
  const skipped: string[] = [];
  for (const path of files) {
    const place = pathBytes(repository.root, path);
    const found = lstatSync(place, { bigint: true });
    const mode = Number(found.mode);
    if (found.isSymbolicLink()) {
      const target = readlinkSync(place, { encoding: "buffer" });
      rows.push({ mode: "120000", oid: await hashed(repository, target), path });
    } else if (found.isFile()) plain.push({ path, mode });
    else {
      skipped.push(path);
      continue;
    }
    modes[path] = [mode & 0o7777, String(found.mtimeNs)];
  }
  if (plain.length > 0) {
    // The names are quoted because the input is line based. The content is stored as it is, without filters.
    const input = `${plain.map(({ path }) => quoted(path)).join("\n")}\n`;
    const args = [...durable, "hash-object", "-w", "--no-filters", "--stdin-paths"];
    const oids = (await repository.git(args, { input, timeoutMs })).stdout.toString().trim().split("\n");
    for (const [at, { path, mode }] of plain.entries())
      rows.push({ mode: mode & 0o111 ? "100755" : "100644", oid: oids[at] ?? "", path });
  }
  return { rows, modes, skipped };
}

/** The raw index, and trees that keep the objects that it names. An index with conflicts has several stages. */
async function indexEntries(repository: Repository): Promise<{ entries: string[]; seconds: number | null }> {
  const file = join(repository.gitDir, "index");
  if (!existsSync(file)) return { entries: [], seconds: null };
  const listed = fields((await repository.git(["ls-files", "-s", "-z", "--sparse"])).stdout);
  const staged = listed.map((entry) => {
    const [mode = "", oid = "", stage = ""] = entry.slice(0, entry.indexOf("\t")).split(" ");
    return { mode, oid, stage, path: entry.slice(entry.indexOf("\t") + 1) };
  });
  const entries: string[] = [];
  for (const stage of ["0", "1", "2", "3"]) {
    const own = staged.filter((entry) => entry.stage === stage);
    const files = own.filter(({ mode }) => mode !== "040000");
    if (files.length > 0) entries.push(treeEntry(await treeFrom(repository, files), `stage${stage}`));
    for (const [at, { oid }] of own.filter(({ mode }) => mode === "040000").entries())
      entries.push(treeEntry(oid, `stage${stage}-sparse-${at}`));
  }
  entries.push(blobEntry(await hashed(repository, await wholeIndex(repository, file)), "index"));
  return { entries, seconds: Math.floor(statSync(file).mtimeMs / 1000) };
}

/** A split index refers to another file: joins them in a copy. */
async function wholeIndex(repository: Repository, file: string): Promise<Buffer> {
  const raw = await readFile(file);
  if (!raw.includes("link")) return raw;
  return withTemporary(async (copy) => {
    await copyFile(file, copy);
    await repository.git(["update-index", "--no-split-index"], { env: { GIT_INDEX_FILE: copy } });
    return readFile(copy);
  });
}

async function operationState(repository: Repository): Promise<Row[]> {
  const rows: Row[] = [];
  const visit = async (path: string): Promise<void> => {
    const place = join(repository.gitDir, path);
    if (!existsSync(place)) return;
    if (statSync(place).isDirectory()) for (const name of readdirSync(place)) await visit(`${path}/${name}`);
    else rows.push({ mode: "100644", oid: await hashed(repository, readFileSync(place)), path });
  };
  for (const path of stateFiles) await visit(path);
  return rows;
}

/** Commits that only this working tree refers to. */
async function parents(repository: Repository, head: string | null): Promise<string[]> {
  const found = new Set(head === null ? [] : [head]);
  for (const path of [
    ...["MERGE_HEAD", "ORIG_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD"],
    ...["rebase-merge/orig-head", "rebase-merge/onto", "rebase-merge/stopped-sha"],
  ]) {
    const place = join(repository.gitDir, path);
    if (existsSync(place))
      for (const oid of readFileSync(place, "utf8").match(/\b[0-9a-f]{40,64}\b/g) ?? []) found.add(oid);
  }
  const log = await repository.git(["log", "-g", "-n", longestLog, "--format=%H", "HEAD"], { codes: [0, 128] });
  for (const oid of log.stdout.toString().split("\n")) if (oid !== "") found.add(oid);
  if (found.size === 0) return [];
  const { stdout } = await repository.git(["cat-file", "--batch-check=%(objecttype) %(objectname)"], {
    input: `${[...found].join("\n")}\n`,
  });
  return [...stdout.toString().matchAll(/^commit (\S+)$/gm)].map(([, oid = ""]) => oid);
}

async function treeFrom(repository: Repository, rows: readonly Row[]): Promise<string> {
  const input = Buffer.from(rows.map(({ mode, oid, path }) => `${mode} ${oid} 0\t${path}\0`).join(""), "latin1");
  return withTemporary(async (index) => {
    const env = { GIT_INDEX_FILE: index };
    const lax = ["-c", "core.protectHFS=false", "-c", "core.protectNTFS=false"];
    await repository.git(["read-tree", "--empty"], { env });
    await repository.git([...lax, "update-index", "-z", "--index-info"], { env, input, timeoutMs });
    return line(await repository.git([...durable, "write-tree", "--missing-ok"], { env, timeoutMs }));
  });
}

async function hashed({ git }: Repository, bytes: Uint8Array): Promise<string> {
  return line(await git([...durable, "hash-object", "-w", "--no-filters", "--stdin"], { input: bytes }));
}

async function verified({ git }: Repository, name: string): Promise<string | null> {
  const found = await git(["rev-parse", "-q", "--verify", name], { codes: [0, 1, 128] });
  return found.code === 0 ? line(found) : null;
}

async function withTemporary<T>(work: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "aegis-rescue-"));
  try {
    return await work(join(folder, "index"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function treeEntry(oid: string, name: string): string {
  return `040000 tree ${oid}\t${name}\0`;
}

function blobEntry(oid: string, name: string): string {
  return `100644 blob ${oid}\t${name}\0`;
}

/** As git quotes paths in line-based formats. */
function quoted(path: string): string {
  const escaped = [...Buffer.from(path, "latin1")].map((byte) => {
    const character = String.fromCharCode(byte);
    if (character === '"' || character === "\\") return `\\${character}`;
    return byte < 32 || byte > 126 ? `\\${byte.toString(8).padStart(3, "0")}` : character;
  });
  return `"${escaped.join("")}"`;
}
