/** Starts a project's daemon with the CLI of this package. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { packageRoot } from "@aegis/lib/assets.ts";

export type StartOptions = {
  env: Readonly<Record<string, string | undefined>> | undefined;
  signal: AbortSignal | undefined;
};

/** Resolves when the daemon responds. Concurrent callers end up with one daemon. */
export function startDaemon(root: string, { env, signal }: StartOptions): Promise<void> {
  const settings = { cwd: root, ...(env === undefined ? {} : { env }), ...(signal === undefined ? {} : { signal }) };
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [commandLine(), "up"], settings, (error, _, stderr) => {
      if (error === null) return resolve();
      if (signal?.aborted) return reject(signal.reason);
      const reason = stderr.trim() || error.message;
      const hint = "run `aegis up` in the folder to see the same error there";
      reject(
        new AegisError("unavailable", `no daemon could be started for ${root}: ${reason}`, { hint, cause: error }),
      );
    });
    // Without a terminal, the CLI asks no questions.
    child.stdin?.end();
  });
}

/** The entry of the CLI of this package. */
export function commandLine(): string {
  const path = import.meta.url.endsWith(".ts") ? ["packages", "clients", "cli", "src", "main.ts"] : ["dist", "cli.js"];
  return join(packageRoot(), ...path);
}
