/** `aegis` in a terminal: prepares the folder if needed, starts the daemon, and opens the terminal app. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { connect } from "@aegis/client/project/connect.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { configFileName, findProjectRoot, storePath } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { type Connection, ensureDaemon } from "../../daemon/connection.ts";
import { usageError } from "../../program/failure.ts";
import { askYesNo } from "../../terminal/confirm.ts";
import { exitCodes } from "../../terminal/context.ts";
import { openFullScreen } from "../../terminal/full-screen.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { clipboardImage, editText } from "../../terminal/user-programs.ts";
import { readTerminalSettings, terminalSettingsPath } from "../project/terminal-settings.ts";

export async function openApp(cx: Terminal): Promise<number> {
  if (!(await prepareFolder(cx))) return exitCodes.interrupted;
  return runApp(cx, await cx.daemon(), null);
}

/** Offers a configuration for a new folder, and trust for what a folder would run. False if the input ended. */
async function prepareFolder(cx: Terminal): Promise<boolean> {
  const root = findProjectRoot(cx.cwd);
  if (!existsSync(join(root, configFileName)) && !existsSync(storePath(root))) {
    cx.print(`${cx.style.bold("aegis")} runs a team of AI agents on your machine and lets them work together.`);
    const wanted = await askYesNo(cx, `${cx.cwd} is not a project yet. Write a configuration for it?`, true);
    if (wanted === null) return false;
    if (wanted) {
      const { initHere } = await import("../project/init.ts");
      await initHere(cx, { yes: true, force: false, team: undefined, worktrees: false });
    }
  }
  const { offerTrust } = await import("../plugin/trust.ts");
  await offerTrust(cx);
  return true;
}

/** Shows this session first; null shows the newest one. `stopsDaemon`: the caller stops the daemon afterwards. */
export async function runApp(
  cx: Terminal,
  { root }: Connection,
  session: SessionId | null,
  { stopsDaemon = false }: { stopsDaemon?: boolean } = {},
): Promise<number> {
  const home = homeOf(cx.env);
  const settings = await readTerminalSettings(home);
  const { createKeymap, runTui } = await import("@aegis/tui/main.ts");
  try {
    createKeymap(settings.keys);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw usageError(`${terminalSettingsPath(home)}: keys: ${error.message}`, "see docs/terminal.md");
  }
  // Each frame and each key makes garbage. Without these, the young generation grows to several times what the app needs,
  // and garbage of a long message stays in memory after it was sent.
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--optimize-for-size");
  const screen = openFullScreen(cx);
  let code: number = exitCodes.ok;
  let answers: readonly string[] = [];
  try {
    answers = await runTui({
      client: await connect(root, { env: cx.env }),
      root,
      stdin: cx.stdin,
      stdout: cx.stdout,
      env: cx.env,
      unicode: cx.unicode,
      settings,
      session,
      stopsDaemon,
      clock: () => systemClock.now(),
      signal: screen.signal,
      // Messages for a plain terminal would destroy the screen.
      startDaemon: () => ensureDaemon({ ...cx, warn: () => {}, interactive: false }),
      editText: (text) => screen.lend(() => editText(text, cx.env)),
      clipboardImage: () => clipboardImage(cx.env),
      suspendJob: () => screen.suspendJob(),
      onOpen: (program) => screen.open(program),
    });
  } finally {
    code = screen.close();
  }
  for (const line of answers) cx.write(`${line}\n`);
  return code;
}
