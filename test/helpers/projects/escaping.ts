/** Programs that leave their process group and ignore SIGTERM. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { isRunning } from "../pids.ts";
import { waitUntil } from "../wait-until.ts";

/** `sh escape.sh <name>` leaves a process in a session of its own and writes its pid to `escaped/<name>`. */
export const escaping = {
  "escape.sh": `mkdir -p "$AT/escaped"
setsid sh -c 'trap "" TERM INT HUP; echo $$ > "$AT/escaped/$0.new"; mv "$AT/escaped/$0.new" "$AT/escaped/$0"; while :; do sleep 0.2; done' "$1" </dev/null >/dev/null 2>&1 &
while [ ! -e "$AT/escaped/$1" ]; do sleep 0.02; done
`,
};
export const run = (name: string) => `AT="$PWD" sh escape.sh ${name}`;

export async function escapedPid(dir: string, name: string): Promise<number> {
  let pid = 0;
  await waitUntil(`${name} has escaped`, async () => {
    pid = Number(await readFile(join(dir, "escaped", name), "utf8").catch(() => "0"));
    return pid > 0;
  });
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  });
  return pid;
}
