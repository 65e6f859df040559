/** `aegis mcp install`: adds Aegis to the MCP servers in another program's settings, after showing the change. */
import { existsSync } from "node:fs";
import { mkdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { commandLine } from "../../../client/project/start-daemon.ts";
import { configFileName, findProjectRoot, storePath } from "../../../lib/daemon-file.ts";
import { isErrno, writeAtomic } from "../../../lib/files.ts";
import { didYouMean } from "../../../lib/nearest.ts";
import { unifiedDiff } from "../../../lib/unified-diff.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import { confirm } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import { type Entry, edited, settingsFile, snippet } from "./settings.ts";
import type { mcpCommands } from "./spec.ts";
import { type InstallTarget, installTargets } from "./targets.ts";

export const install: Handler<typeof mcpCommands.install> = async (cx, { program, scope, print, yes }) => {
  const target = targetOf(program);
  const root = findProjectRoot(cx.cwd);
  if (!existsSync(join(root, configFileName)) && !existsSync(storePath(root)))
    cx.warn(`${root} is not a project yet; run aegis init here, or name a project with --project`);
  const entry: Entry = {
    // Programs with a window do not have the PATH of the user's shell.
    command: process.execPath,
    args: [commandLine(), "--project", root, "mcp", "--client", target],
  };
  const place = settingsFile(target, scope, { root, env: cx.env, platform: process.platform });
  if (place === null) throw usageError(`${target} has no settings file of a project`, "use --scope user");
  if (print) {
    cx.show({ file: place, entry: snippet(target, entry) }, [place, "", snippet(target, entry)]);
    return;
  }
  const file = await realpath(place).catch(() => place);
  const before = await readFile(file, "utf8").catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  });
  const after = edited(target, before ?? "", entry, place);
  if (after === before) {
    cx.show({ file: place, changed: false }, `${place} already has this entry.`);
    return;
  }
  cx.tell([place, ...unifiedDiff(before ?? "", after), ""]);
  if (!yes) {
    if (!cx.interactive)
      throw usageError(
        "this needs confirmation, and standard input is not a terminal",
        "add --yes to write the file, or --print",
      );
    if (!(await confirm(cx, "Write this?"))) {
      cx.tell("Nothing was changed.");
      return exitCodes.failed;
    }
  }
  const mode = before === null ? 0o600 : (await stat(file)).mode & 0o777;
  const backup = before === null ? null : `${file}.before-aegis`;
  if (before === null) await mkdir(dirname(file), { recursive: true });
  if (backup !== null && before !== null) await writeAtomic(backup, before, { mode });
  await writeAtomic(file, after, { mode });
  cx.show({ file: place, changed: true, backup }, [
    `Added Aegis to ${target}. Restart ${target}, or reload its MCP servers.`,
    ...(backup === null ? [] : [`The file as it was before: ${backup}`]),
  ]);
};

function targetOf(program: string): InstallTarget {
  const found = installTargets.find((target) => target === program);
  if (found !== undefined) return found;
  throw usageError(
    `no program "${program}"${didYouMean(program, installTargets)}`,
    `expected ${installTargets.join(", ")}`,
  );
}
