/**
 * The mounts of a confined program. Everything is visible and read-only unless the policy says otherwise. The mounts are
 * made from the shortest path to the longest, so that the rule with the deepest path decides.
 */
import { lstat, realpath } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { isErrno, isInside } from "@aegis/lib/files.ts";
import type { SandboxPolicy } from "../policy.ts";

/** Of rules for the same path the later kind decides. */
const kinds = ["hide", "show", "pin", "write", "protect"] as const;
type Kind = (typeof kinds)[number];

type Mount = { kind: Kind; path: string; from: string; isFolder: boolean };

/** Private inside: what lies there on the host is invisible unless a rule names it. */
const privatePlaces = ["/tmp", "/run", "/dev", "/proc"];

export async function mountArguments(policy: SandboxPolicy): Promise<string[]> {
  const mounts = await mountsOf(policy);
  const base = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"];
  const hidden = mounts.filter(({ kind, isFolder }) => kind === "hide" && isFolder);
  return [
    ...base,
    ...["--tmpfs", "/run", "--bind", await realpath(policy.tmp), "/tmp"],
    ...mounts.flatMap(argumentsFor),
    // Last, because mount points are made in them. Without it a write would vanish instead of failing.
    ...[...hidden.map(({ path }) => path), "/run"].flatMap((path) => ["--remount-ro", path]),
  ];
}

function argumentsFor({ kind, path, from, isFolder }: Mount): string[] {
  switch (kind) {
    case "hide":
      return isFolder ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
    case "show":
    case "protect":
      return ["--ro-bind", from, path];
    case "pin":
    case "write":
      return ["--bind", from, path];
  }
}

async function mountsOf(policy: SandboxPolicy): Promise<Mount[]> {
  const found = new Map<string, Mount>();
  const add = (mount: Mount) => {
    const known = found.get(mount.path);
    if (known === undefined || kinds.indexOf(known.kind) <= kinds.indexOf(mount.kind)) found.set(mount.path, mount);
  };
  for (const kind of ["hide", "show", "write"] as const) {
    for (const place of await existing(policy[kind])) add({ kind, from: place.path, ...place });
  }
  // A program can put a link in the place of a protected file: where it leads must not become visible.
  const written = [...found.values()];
  for (const place of await existing(policy.protect)) {
    const around = [place.path, ...above(place.path)];
    const [nearest] = around.flatMap((folder) => written.find(({ path }) => path === folder) ?? []);
    if (nearest?.kind === "write") add({ kind: "protect", from: place.path, ...place });
  }
  for (const { folder, at } of policy.instead) {
    const [place] = await existing([at]);
    if (place !== undefined) add({ kind: "write", ...place, from: await realpath(folder) });
  }
  const needed = [...found.values()].filter((mount) => isNeeded(mount, found));
  return [...needed, ...pins(needed)].sort((a, b) => depth(a.path) - depth(b.path) || compare(a.path, b.path));
}

/** What is hidden, or visible, without a mount of its own needs none. */
function isNeeded({ kind, path }: Mount, all: ReadonlyMap<string, Mount>): boolean {
  if (kind !== "hide" && kind !== "show") return true;
  const around = above(path)
    .map((folder) => all.get(folder))
    .find((mount) => mount !== undefined);
  const isPrivate = privatePlaces.some((place) => isInside(place, path) && !isInside(place, around?.path ?? "/"));
  const isCovered = isPrivate || around?.kind === "hide" || (around !== undefined && around.from !== around.path);
  return kind === "hide" ? !isCovered : isCovered;
}

/**
 * The folders between a writable root and a protected or hidden path in it, bound onto themselves. The root of a mount
 * cannot be renamed; any other folder could be, with the mounts below it, and replaced.
 */
function pins(mounts: readonly Mount[]): Mount[] {
  const byPath = new Map(mounts.map((mount) => [mount.path, mount]));
  const pinned = new Map<string, Mount>();
  for (const { kind, path } of mounts) {
    if (kind !== "protect" && kind !== "hide") continue;
    let between: string[] = [];
    for (const folder of above(path)) {
      const mount = byPath.get(folder);
      if (mount === undefined) between.push(folder);
      else if (mount.kind !== "write" || mount.from !== mount.path) break;
      else {
        for (const one of between) pinned.set(one, { kind: "pin", path: one, from: one, isFolder: true });
        between = [];
      }
    }
  }
  return [...pinned.values()];
}

/** The folders above a path, the nearest first. */
function above(path: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) folders.push(folder);
  return folders;
}

/** The real paths of those that exist. */
async function existing(paths: readonly string[]): Promise<{ path: string; isFolder: boolean }[]> {
  const found = new Map<string, boolean>();
  for (const given of paths) {
    try {
      const path = await realpath(given);
      found.set(path, (await lstat(path)).isDirectory());
    } catch (error) {
      // Paths that nobody may enter are hidden without a mount.
      if (!isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) throw error;
    }
  }
  return [...found].map(([path, isFolder]) => ({ path, isFolder }));
}

function depth(path: string): number {
  return relative("/", path).split("/").length;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
