/** `aegis mcp`: serves MCP to the program that started it, and manages credentials for MCP over HTTP. */
import { clientFollowing } from "@aegis/client/project/following.ts";
import { derivedClientToken } from "@aegis/lib/client-token.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { childVariable } from "@aegis/lib/process/marks.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { ensureDaemon } from "../../daemon/connection.ts";
import { stateOfDaemon } from "../../daemon/state-of-daemon.ts";
import { table } from "../../format/columns.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import { usageError } from "../../program/failure.ts";
import type { CliContext } from "../../terminal/context.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { untilStopped } from "../../terminal/until-stopped.ts";
import type { mcpCommands } from "./spec.ts";

const namePattern = /^[a-z0-9]+(?:[._-][a-z0-9]+)*$/;

export const mcp: Handler<typeof mcpCommands.mcp> = async (cx, { client = "mcp", http }) => {
  if (!namePattern.test(client) || client.length > 32) {
    const expected = "lower-case letters and digits joined by - . or _, as in claude-code";
    throw usageError(`--client ${client}: expected at most 32 ${expected}`);
  }
  if (http) return issue(cx, client);
  if (cx.stdinIsTerminal) {
    const hint = "another program starts it: aegis mcp install <program> sets it up";
    throw usageError("aegis mcp speaks a protocol on standard input", hint);
  }
  await serve(cx, client);
};

async function serve(cx: Terminal, name: string): Promise<void> {
  const { serveStdio } = await import("@aegis/mcp-server/stdio.ts");
  // Standard output belongs to the protocol, so the command cannot ask the user.
  const quiet: CliContext = { ...cx, interactive: false };
  const refused = refusal(cx.env);
  // Without a project's daemon the server still answers, and says why it offers nothing.
  const { root, daemon } = refused === null ? await ensureDaemon(quiet) : { root: cx.cwd, daemon: noDaemon };
  const home = homeOf(cx.env);
  const client = clientFollowing(root, daemon, home, (token) => derivedClientToken(token, name));
  let starting: Promise<unknown> | null = null;
  const startUnless = async (fine: readonly string[]) => {
    if (fine.includes(await stateOfDaemon(root, home, client))) return;
    starting ??= ensureDaemon(quiet).finally(() => {
      starting = null;
    });
    await starting;
  };
  const warn = (line: string) => cx.warn(`aegis mcp: ${line}`);
  await untilStopped(cx, (signal) =>
    serveStdio({
      client,
      version: packageVersion(),
      refused,
      ready: () => startUnless(["live"]),
      // Only after a crash: a daemon that the user stopped stays down until the next call.
      onBreak: () => void startUnless(["live", "none"]).catch((error: unknown) => warn(String(error))),
      stdin: cx.stdin,
      signal,
      warn,
    }),
  );
}

const noDaemon = { url: "http://127.0.0.1:9", token: "", version: "", id: "", pid: 0, start_time: "" };

/**
 * A harness that Aegis started reads the user's MCP settings as well. Its agent has its own tools; with these it would
 * act as another program and start work outside its limits.
 */
function refusal(env: CliContext["env"]): string | null {
  if ((env[childVariable] ?? "") === "") return null;
  return "Aegis started this agent, so it uses the tools of its own session instead. This server offers none.";
}

async function issue(cx: Terminal, name: string): Promise<void> {
  const { token, url } = await cx.call("addClient", { body: { name } });
  const { config } = await cx.call("config");
  cx.show({ name, url, token }, () => [
    `Credential of ${name}, shown only now:`,
    `  ${token}`,
    "",
    "Settings of the program:",
    `  URL     ${url}`,
    `  header  Authorization: Bearer <credential>`,
    "",
    ...(hasFixedPort(config)
      ? []
      : ["The port changes with each start of the daemon. Set a fixed one: aegis config set server.port 4321", ""]),
    `Revoke it with: aegis mcp revoke ${name}`,
  ]);
}

function hasFixedPort(config: unknown): boolean {
  const server = typeof config === "object" && config !== null && "server" in config ? config.server : null;
  return typeof server === "object" && server !== null && "port" in server && server.port !== 0;
}

export const clients: Handler<typeof mcpCommands.clients> = async (cx) => {
  const found = await cx.call("listClients");
  cx.show(found, () => {
    if (found.clients.length === 0)
      return ["No program has a credential. Issue one with: aegis mcp --http --client <name>"];
    const now = Date.now();
    return table(cx, ["NAME", "ISSUED", "LAST USED"], found.clients, ({ name, created_at, last_used_at }) => [
      name,
      relativeTime(created_at, now),
      last_used_at === null ? "never" : relativeTime(last_used_at, now),
    ]);
  });
};

export const revoke: Handler<typeof mcpCommands.revoke> = async (cx, { client }) => {
  const answer = await cx.call("removeClient", { path: { client } });
  cx.show(answer, `Revoked the credential of ${answer.removed.name}.`);
};
