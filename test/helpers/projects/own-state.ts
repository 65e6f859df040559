/** A project with state of its own, which its user moves, copies and kills. */
import { agreeAlways } from "@aegis/project/trust/agree.ts";
import { type AegisProject, aegisProject } from "../aegis.ts";
import { isRunning } from "../pids.ts";
import { waitUntil } from "../wait-until.ts";
import { done } from "./stranger.ts";

export async function used(crash = false): Promise<AegisProject> {
  const at = await aegisProject();
  await done(at, "spawn", "dev", "--handle", "first-one");
  await (crash ? kill(at) : done(at, "down"));
  return at;
}

export async function kill(at: AegisProject): Promise<void> {
  const pid = await at.daemonPid();
  if (pid === null) throw new Error("no daemon");
  process.kill(pid, "SIGKILL");
  await waitUntil("the daemon is gone", () => !isRunning(pid));
}

/** The same commands at another place, which is emptied of its daemon at the end. */
export async function there(
  at: AegisProject,
  place: string,
  work: (run: (...args: string[]) => Promise<string>) => Promise<void>,
): Promise<void> {
  await agreeAlways({ root: place, env: at.env });
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await at.aegis("-C", place, ...args);
    return `${code} ${stdout}${stderr}`;
  };
  try {
    await work(run);
  } finally {
    await run("down", "--force");
  }
}
