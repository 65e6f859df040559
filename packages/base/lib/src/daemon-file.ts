/**
 * `.aegis/state/daemon.json`: how a client finds the daemon of a project and verifies that the process is still that
 * daemon. The daemon signs the file with the user's key. A file that came with the folder could name any address, and
 * the client would send prompts there. Uses only Node modules, because every CLI command reads this file first.
 */
import { existsSync } from "node:fs";
import { readFile, realpath, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ifMissing, writeAtomic } from "./files.ts";
import { systemProcessTable } from "./process/table.ts";
import { findUserKey, type UserKey } from "./user-key.ts";

export type DaemonFile = {
  pid: number;
  /** The start time of the process as reported by the system. The system reuses pids, so a pid alone is not enough. */
  start_time: string;
  url: string;
  token: string;
  version: string;
  /** The daemon that wrote the file. Only that daemon may remove it. */
  id: string;
};

export type DaemonFileState =
  | { state: "none" }
  | { state: "live"; file: DaemonFile }
  /** The file exists but its process has ended. */
  | { state: "stale"; file: DaemonFile }
  /** The file has no signature of this user: another user, an older Aegis or an untrusted source wrote it. */
  | { state: "foreign"; problem: string; pid: number }
  | { state: "broken"; problem: string };

export const configFileName = ".aegis.yaml";

/**
 * Finds the project of a folder: the nearest ancestor with a config file, else the nearest ancestor that has been used
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

/** Only a daemon creates this file. Other programs put locks and caches into the state folder of an unused project. */
export function storePath(root: string): string {
  return join(stateDir(root), "aegis.db");
}

export function daemonFilePath(root: string): string {
  return join(stateDir(root), "daemon.json");
}

export function daemonLogPath(root: string): string {
  return join(stateDir(root), "daemon.log");
}

/**
 * Reads the file without verifying its author; clients use `inspectDaemonFile` instead. Returns null if there is no
 * file. Throws if the file is unreadable or malformed.
 */
export async function readDaemonFile(root: string): Promise<DaemonFile | null> {
  return (await readSigned(root))?.file ?? null;
}

type Signed = { file: DaemonFile; proof: unknown };

async function readSigned(root: string): Promise<Signed | null> {
  const path = daemonFilePath(root);
  const text = await readFile(path, "utf8").catch(ifMissing(null));
  return text === null ? null : parse(text, path);
}

/** Reads the file and checks that the user of `home` signed it and that its process is still the same one. */
export async function inspectDaemonFile(root: string, home: string): Promise<DaemonFileState> {
  try {
    const signed = await readSigned(root);
    if (signed === null) return { state: "none" };
    const { file, proof } = signed;
    const key = await findUserKey(home);
    if (key?.verifies(proof, "daemon", ...(await signedParts(root, file))) !== true) {
      const problem = `${daemonFilePath(root)} was not written by an Aegis of this user and for this folder`;
      return { state: "foreign", problem, pid: file.pid };
    }
    return { state: isSameProcess(file) ? "live" : "stale", file };
  } catch (error) {
    return { state: "broken", problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The state folder must exist. A daemon does not recreate a state folder that was deleted. */
export async function writeDaemonFile(root: string, file: DaemonFile, key: UserKey): Promise<void> {
  const signed = { ...file, proof: key.sign("daemon", ...(await signedParts(root, file))) };
  await writeAtomic(daemonFilePath(root), `${JSON.stringify(signed, null, 2)}\n`, { mode: 0o600 });
}

/** The signature covers the folder, so a file copied into another project is rejected. */
async function signedParts(root: string, file: DaemonFile): Promise<string[]> {
  const { pid, start_time, url, token, version, id } = file;
  return [await realpath(root), String(pid), start_time, url, token, version, id];
}

/** Removes the file if the daemon with this id wrote it. Returns true if the file is gone. */
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

/** Returns a start time that differs between two processes with the same pid, or null if there is no such process. */
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

function parse(text: string, path: string): Signed {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${path} is not JSON`, { cause: error });
  }
  if (!isDaemonFile(value)) {
    throw new Error(`${path} does not describe a daemon: expected pid, start_time, url, token, version and id`);
  }
  const { pid, start_time, url, token, version, id } = value;
  return { file: { pid, start_time, url, token, version, id }, proof: "proof" in value ? value.proof : null };
}

function isDaemonFile(value: unknown): value is DaemonFile {
  if (typeof value !== "object" || value === null) return false;
  const file = value as Record<string, unknown>;
  const texts = [file.start_time, file.url, file.token, file.version, file.id];
  return Number.isSafeInteger(file.pid) && Number(file.pid) > 0 && texts.every((text) => typeof text === "string");
}

/** Exit codes of a daemon that could not start. The CLI command that started it derives its message from them. */
export const daemonExit = {
  failed: 1,
  /** Invalid arguments or configuration. */
  invalid: 2,
  /** Another daemon serves the project. */
  projectTaken: 4,
  /** The project contains state that is not known to belong to the user. */
  stateUnknown: 5,
} as const;
