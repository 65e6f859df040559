/** Processes that tests left behind: their environment or their working folder names the folder of the run. */
import { readlinkSync } from "node:fs";
import { systemProcessTable } from "@aegis/lib/process/table.ts";
import { isRunning } from "./pids.ts";
import { waitUntil } from "./wait-until.ts";

export type LeftBehind = { pid: number; command: string; folder: string };

/** Vitest's own workers are children of this process; a program that a test starts is not. */
export function findLeftBehind(runFolder: string, own: number = process.pid): LeftBehind[] {
  const table = systemProcessTable();
  return table
    .list()
    .filter(({ pid, parent, zombie }) => !zombie && pid !== own && parent !== own)
    .flatMap(({ pid, command }) => {
      const folder = folderOf(pid);
      const named = table.environment(pid)?.some((entry) => entry.includes(runFolder)) ?? false;
      return named || folder.startsWith(runFolder) ? [{ pid, command, folder }] : [];
    });
}

/** Ends them, and throws what they are. What is just ending gets the time to do so. */
export async function requireNoneLeftBehind(runFolder: string, ending = untilNoneIsLeft): Promise<void> {
  await ending(runFolder);
  const left = findLeftBehind(runFolder);
  if (left.length === 0) return;
  for (const { pid } of left) if (isRunning(pid)) process.kill(pid, "SIGKILL");
  const list = left.map(({ pid, command, folder }) => `  ${pid} ${command} in ${folder}`).join("\n");
  throw new Error(`tests left processes behind; they were killed:\n${list}`);
}

function untilNoneIsLeft(runFolder: string): Promise<void> {
  return waitUntil("", () => findLeftBehind(runFolder).length === 0).catch(() => {});
}

/** The system appends " (deleted)" to the name of a folder that is gone. */
function folderOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}
