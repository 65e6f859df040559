/** Whether programs can be confined on the machine that runs the tests. */
import { execFileSync } from "node:child_process";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Null if they can be; otherwise why not. */
export function reasonToSkip(programs: readonly string[] = []): string | null {
  if (process.platform !== "linux") return "the sandbox is for Linux";
  for (const program of ["bwrap", ...programs]) {
    if (!canRun([program, "--version"])) return `${program} is not installed`;
  }
  const minimal = ["bwrap", "--unshare-user", "--unshare-all", "--disable-userns", "--ro-bind", "/", "/"];
  return canRun([...minimal, "--proc", "/proc", "true"]) ? null : "this machine lets bwrap make no namespaces";
}

function canRun([file = "", ...args]: readonly string[]): boolean {
  try {
    execFileSync(file, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** On a disk: `/tmp` and `/dev/shm` are private inside. A given user may write it. */
export async function diskFolder(uid: number | null = null): Promise<string> {
  const path = await mkdtemp(join(tmpdir() === "/tmp" ? "/var/tmp" : tmpdir(), "aegis-sandbox-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  await chmod(path, 0o755);
  if (uid !== null) await chown(path, uid, uid);
  return path;
}
