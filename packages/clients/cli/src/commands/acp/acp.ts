/** `aegis acp`: serves ACP to an editor over standard input and output. */
import { resolve } from "node:path";
import { homeOf } from "@aegis/lib/home.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { type Connection, ensureDaemon, ensureProjectDaemon } from "../../daemon/connection.ts";
import { stateOfDaemon } from "../../daemon/state-of-daemon.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import type { CliContext } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { untilStopped } from "../../terminal/until-stopped.ts";
import type { acpCommands } from "./spec.ts";

export const acp: Handler<typeof acpCommands.acp> = async (cx, { agent }) => {
  if (cx.stdinIsTerminal) {
    throw usageError("aegis acp speaks a protocol on standard input", "an editor starts it; see docs/editors.md");
  }
  const { serveAcp } = await import("@aegis/acp-agent/serve.ts");
  await untilStopped(cx, (signal) =>
    serveAcp({
      agent,
      signal,
      version: packageVersion(),
      cwd: cx.cwd,
      stdin: cx.stdin,
      stdout: cx.stdout,
      open: (folder, how) => openProject(cx, folder, how),
      warn: (line) => cx.warn(`aegis acp: ${line}`),
    }),
  );
};

async function openProject(cx: Terminal, folder: string, { start }: { start: boolean }) {
  // Standard output belongs to the protocol, so the command cannot ask the user.
  const at: CliContext = { ...cx, interactive: false, cwd: resolve(cx.cwd, folder) };
  const found = start ? await ensureDaemon(at) : await ensureProjectDaemon(at);
  return found === null ? null : linkOf(at, found);
}

function linkOf(cx: CliContext, { root, client }: Connection) {
  let starting: Promise<unknown> | null = null;
  return {
    root,
    client,
    async revive(only?: "crashed"): Promise<void> {
      const state = await stateOfDaemon(root, homeOf(cx.env), client);
      if (only === "crashed" && state !== "stale") return;
      // Several sessions may miss the daemon at once.
      starting ??= ensureDaemon(cx).finally(() => {
        starting = null;
      });
      await starting;
    },
  };
}
