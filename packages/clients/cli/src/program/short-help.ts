/** `aegis --help`: one screen that leads to every command by what a person wants to do. */

/** A command word and, where its name does not explain it, what it does. */
type Entry = string | readonly [command: string, meaning: string];

/** Every command of the top level has its place here; a test demands it. */
export const tasks: Readonly<Record<string, readonly Entry[]>> = {
  Talk: ["send", "chat", "history", "tail", "spawn", "fork", "title", "rename"],
  Look: ["status", "ps", "agents", "tree", "changes", "why", "worktree", "audit"],
  Decide: ["asks", "ask", "answer", "trust", "sandbox"],
  Stop: [
    ["interrupt", "end the running turn; the next one takes what waits"],
    ["cancel", "take back a message that no turn has taken yet"],
    ["kill", "stop a subagent and the subagents below it"],
    ["close", "end a session; its history stays"],
  ],
  Land: [
    ["land", "merge the work of a session, after its check"],
    ["receipts", "list the checks that Aegis ran, and which still hold"],
    ["rescue", "restore work of worktrees that were removed"],
    ["claims", "list the files that sessions edit in the shared folder"],
  ],
  Automate: ["queue", "task", "workflow", "schedule", "group", "pool"],
  Extend: ["config", "agent", "skill", "plugin", "command", "channel", "mcp", "acp"],
  Operate: ["up", "down", "serve", "service", "logs", "doctor", "state", "store", "nodes", "node"],
};

const start = [
  ["aegis", "open the terminal app: sessions, questions, team"],
  ["aegis web", "open the web app in your browser"],
  ['aegis run "<prompt>"', "send one prompt and print the answer"],
  ["aegis init", "write a configuration with the coding CLIs found here"],
  ["aegis demo", "watch a team work and survive a crash, offline"],
] as const;

/** The words of `start`, and those that only set up a shell. */
export const startWords = ["web", "run", "init", "demo", "completion"] as const;

const width = 24;

export function shortHelp(): string {
  const lines = ["Aegis runs a team of AI agents in this folder and lets them work together."];
  for (const [command, meaning] of start) lines.push(`  ${command.padEnd(width)}${meaning}`);
  lines.push("");
  for (const [task, entries] of Object.entries(tasks)) lines.push(...taskLines(task, entries));
  lines.push(
    "Options: -C <dir> use that folder · --json print JSON · -V print the version",
    "`aegis help <command>` shows options and examples, `aegis help all` all commands",
    "",
  );
  return lines.join("\n");
}

/** A line for each explained command, then one for those that need no explanation. */
function taskLines(task: string, entries: readonly Entry[]): string[] {
  const explained = entries.flatMap((entry) =>
    typeof entry === "string" ? [] : [`${entry[0].padEnd(14)}${entry[1]}`],
  );
  const plain = entries.filter((entry) => typeof entry === "string").join("  ");
  const rows = plain === "" ? explained : [...explained, plain];
  return rows.map((row, index) => `  ${(index === 0 ? task : "").padEnd(10)}${row}`);
}
