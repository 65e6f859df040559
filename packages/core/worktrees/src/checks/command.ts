/** Runs the command of a check: a minimal environment, a timeout, and no process left when it ends. */
import { constants } from "node:os";
import { childEnv, type Environment } from "@aegis/lib/child-env.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { onAbort } from "@aegis/lib/until-aborted.ts";

export type CheckCommand = {
  command: string;
  cwd: string;
  /** Variables of the working copy. */
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  signal: AbortSignal;
};

export type CheckHost = { processes: Pick<Processes, "start">; daemonEnv: Environment };

export type Ran = { exit: number; timedOut: boolean; duration_ms: number; output: string };

/** Test tools print their counts at the end. */
const mostOutput = 1 << 20;
/** As the command `timeout` does. */
const timeoutExit = 124;

/** Throws the reason of `signal` if it aborts. */
export async function runCommand(
  { command, cwd, env, timeoutMs, signal }: CheckCommand,
  { processes, daemonEnv }: CheckHost,
  consent: () => Promise<Consent>,
): Promise<Ran> {
  signal.throwIfAborted();
  const started = performance.now();
  const child = await processes.start(
    {
      // Both streams: some tools print their counts to stderr.
      argv: ["sh", "-c", 'exec 2>&1 </dev/null; eval "$1"', "sh", command],
      cwd,
      env: childEnv(daemonEnv, [], { ...env, CI: "1" }),
    },
    await consent(),
  );
  const deadline = AbortSignal.timeout(timeoutMs);
  const release = onAbort(AbortSignal.any([signal, deadline]), () => void child.stop());
  try {
    child.stdin.end();
    const decoder = new TextDecoder();
    let output = "";
    for await (const chunk of child.stdout) {
      output += decoder.decode(chunk, { stream: true });
      if (output.length > 2 * mostOutput) output = output.slice(-mostOutput);
    }
    const { code, signal: by } = await child.exited;
    signal.throwIfAborted();
    const exit = deadline.aborted ? timeoutExit : (code ?? 128 + (by === null ? 0 : (constants.signals[by] ?? 0)));
    return { exit, timedOut: deadline.aborted, duration_ms: performance.now() - started, output };
  } finally {
    release();
    await child.stop();
  }
}
