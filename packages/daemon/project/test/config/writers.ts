/** Starts `fixtures/writer.ts` and ends it with the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export function startWriter(...args: string[]): ChildProcess {
  const script = fileURLToPath(new URL("fixtures/writer.ts", import.meta.url));
  const child = spawn(process.execPath, [script, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  return child;
}

export async function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

/** Resolves when the writer says that it holds the lock. */
export async function holding(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new Error("the writer has no output");
  await once(child.stdout, "data");
}
