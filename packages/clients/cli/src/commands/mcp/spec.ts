/** Commands for programs that use Aegis over MCP. */
import { argument, command, type Exit, option } from "../../program/command.ts";

const group = "Other programs:";

export const mcpCommands = {
  mcp: command({
    path: "mcp",
    group,
    summary: "Serve the Model Context Protocol to another program, or set one up",
    options: {
      client: option.text("--client <name>", "the name of the program, as in cursor (default: mcp)"),
      http: option.flag("--http", "issue a credential for MCP over HTTP, which the daemon serves, and exit"),
    },
    examples: ["aegis mcp --client cursor", "aegis mcp --http --client cursor"],
    notes: ["Without --http, a program starts this command and talks to it. docs/mcp-server.md describes the tools."],
    run: (cx, args): Exit => import("./mcp.ts").then((it) => it.mcp(cx, args)),
  }),
  install: command({
    path: "mcp install",
    summary: "Add Aegis to the MCP servers of another program, after showing the change",
    arguments: {
      program: argument(
        "<program>",
        "such as claude-code, codex, cursor or vscode; another name lists all",
        "mcp program",
      ),
    },
    options: {
      scope: option.choice("--scope <scope>", "user, or project if the program has such a file", ["user", "project"], {
        default: "user",
      }),
      print: option.flag("--print", "print the entry and change nothing"),
      yes: option.flag("-y, --yes", "write the file without asking"),
    },
    examples: ["aegis mcp install cursor", "aegis mcp install claude-code --scope project --yes"],
    run: (cx, args): Exit => import("./install.ts").then((it) => it.install(cx, args)),
  }),
  clients: command({
    path: "mcp clients",
    summary: "List the programs that have a credential for MCP over HTTP",
    examples: ["aegis mcp clients"],
    run: (cx, args): Exit => import("./mcp.ts").then((it) => it.clients(cx, args)),
  }),
  revoke: command({
    path: "mcp revoke",
    summary: "Revoke the credential of a program",
    arguments: { client: argument("<client>", "the program's name, as aegis mcp clients lists it") },
    examples: ["aegis mcp revoke cursor"],
    run: (cx, args): Exit => import("./mcp.ts").then((it) => it.revoke(cx, args)),
  }),
};
