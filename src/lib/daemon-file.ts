/**
 * `.aegis/state/daemon.json`: how a client finds the daemon of a project, and how it can be sure that the process
 * named there is still that daemon. Plain Node, because every command reads it before anything else.
 */
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isErrno, makePrivateDir, writeAtomic } from "./files.ts";
import { systemProcessTable } from "./process/table.ts";

export type DaemonFile = {
  pid: number;
  /** When the process started, as the system counts it: a pid alone may have been given to another process. */
  start_time: string;
  url: string;
  token: string;
  version: string;
  /** Which daemon wrote the file; only that one may remove it. */
  id: string;
};

export type DaemonFileState =
  | { state: "none" }
  | { state: "live"; file: DaemonFile }
  /** The file is there but its process is not. */
  | { state: "stale"; file: DaemonFile }
  | { state: "broken"; problem: string };

export const configFileName = ".aegis.yaml";

/**
 * The project a folder belongs to: the closest ancestor with a config file, else the closest one that has been used
 * without one, else the folder itself.
 */
export function findProjectRoot(cwd: string): string {
  const start = resolve(cwd);
  return (
    closest(start, (folder) => existsSync(join(folder, configFileName))) ??
    closest(start, (folder) => existsSync(storePath(folder))) ??
    start
  );
}

export function stateDir(root: string): string {
  return join(root, ".aegis", "state");
}

/** Only a daemon makes it; others put locks and caches into the state folder of a project that was never used. */
export function storePath(root: string): string {
  return join(stateDir(root), "aegis.db");
}

export function daemonFilePath(root: string): string {
  return join(stateDir(root), "daemon.json");
}

export function daemonLogPath(root: string): string {
  return join(stateDir(root), "daemon.log");
}

/** The file as written, or null when there is none. Throws when it cannot be read or is not a daemon file. */
export async function readDaemonFile(root: string): Promise<DaemonFile | null> {
  const path = daemonFilePath(root);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
  return parse(text, path);
}

/** The file, judged by whether its process is alive and the same one that wrote it. */
export async function inspectDaemonFile(root: string): Promise<DaemonFileState> {
  let file: DaemonFile | null;
  try {
    file = await readDaemonFile(root);
  } catch (error) {
    return { state: "broken", problem: error instanceof Error ? error.message : String(error) };
  }
  if (file === null) return { state: "none" };
  return { state: isSameProcess(file) ? "live" : "stale", file };
}

export async function writeDaemonFile(root: string, file: DaemonFile): Promise<void> {
  await makePrivateDir(stateDir(root));
  await writeAtomic(daemonFilePath(root), `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
}

/** Removes the file if the daemon with this id wrote it. True when it is gone. */
export async function removeDaemonFile(root: string, id: string): Promise<boolean> {
  let file: DaemonFile | null;
  try {
    file = await readDaemonFile(root);
  } catch {
    return false;
  }
  if (file === null) return true;
  if (file.id !== id) return false;
  await rm(daemonFilePath(root), { force: true });
  return true;
}

/** When a process started, in a form that differs between two processes with the same pid; null when there is none. */
export function processStartTime(pid: number): string | null {
  const info = systemProcessTable().get(pid);
  return info === null || info.zombie ? null : info.start;
}

export function isSameProcess(file: Pick<DaemonFile, "pid" | "start_time">): boolean {
  return processStartTime(file.pid) === file.start_time;
}

function closest(start: string, matches: (folder: string) => boolean): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    if (matches(folder)) return folder;
    if (dirname(folder) === folder) return null;
  }
}

function parse(text: string, path: string): DaemonFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON`, { cause: error });
  }
  if (!isDaemonFile(value)) {
    throw new Error(`${path} does not name a daemon: expected pid, start_time, url, token, version and id`);
  }
  return value;
}

function isDaemonFile(value: unknown): value is DaemonFile {
  if (typeof value !== "object" || value === null) return false;
  const file = value as Record<string, unknown>;
  const texts = [file.start_time, file.url, file.token, file.version, file.id];
  return Number.isSafeInteger(file.pid) && Number(file.pid) > 0 && texts.every((text) => typeof text === "string");
}
