/**
 * Opens a link in the user's browser. Other users can read the arguments of a process, so the link is not one of them:
 * the browser opens a private file that redirects to it.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { writeAtomic } from "@aegis/lib/files.ts";

export type OpenOptions = { folder: string; env: Readonly<Record<string, string | undefined>> };

/** Returns false if the user has to open the link. */
export async function openLink(link: string, { folder, env }: OpenOptions): Promise<boolean> {
  const opener = openerOf(env);
  if (opener === null) return false;
  const file = join(folder, "open-web.html");
  const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${link}"><title>Aegis</title>\n`;
  await writeAtomic(file, page, { mode: 0o600 });
  const [command, ...args] = opener;
  return await new Promise((resolve) => {
    const child = spawn(command, [...args, pathToFileURL(file).href], { detached: true, stdio: "ignore" });
    child.once("error", () => resolve(false));
    child.once("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

/** `BROWSER` names a program, as for other command-line tools. Without a display there is nothing to open. */
function openerOf(env: OpenOptions["env"]): [string, ...string[]] | null {
  if (env.BROWSER !== undefined && env.BROWSER !== "") return [env.BROWSER];
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["explorer"];
  return (env.DISPLAY ?? env.WAYLAND_DISPLAY ?? "") === "" ? null : ["xdg-open"];
}
