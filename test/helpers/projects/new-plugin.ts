/** Commands that a new plugin is checked with. */
import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const run = promisify(execFile);
export const bin = fileURLToPath(new URL("../../../node_modules/.bin", import.meta.url));

export type Made = { place: string; files: string[]; found: boolean; status: string | null };

/** Its output, also after a failure. */
export async function outputOf(command: string, args: string[], cwd: string): Promise<{ ok: boolean; output: string }> {
  const env = { PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`, NO_COLOR: "1" };
  return run(command, args, { cwd, env }).then(
    ({ stdout }) => ({ ok: true, output: stdout }),
    (error: { stdout: string }) => ({ ok: false, output: error.stdout }),
  );
}
