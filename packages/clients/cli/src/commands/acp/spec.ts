/** Commands that other programs start to work with Aegis. */
import { command, type Exit, option } from "../../program/command.ts";

const group = "Other programs:";

export const acpCommands = {
  acp: command({
    path: "acp",
    group,
    summary: "Serve the Agent Client Protocol on standard input and output, for editors",
    options: { agent: option.text("--agent <name>", "the agent of new sessions", "agent") },
    examples: ["aegis acp", "aegis acp --agent reviewer"],
    notes: ["An editor starts this command. docs/editors.md shows the settings of each editor."],
    run: (cx, args): Exit => import("./acp.ts").then((it) => it.acp(cx, args)),
  }),
};
