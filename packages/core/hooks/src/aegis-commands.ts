/** Finds calls of the Aegis CLI that decide or speak as the user. */
import { actingCommands, showingCommands } from "@aegis/contract/cli-commands.ts";
import { commandsIn } from "./shell-words.ts";

/** Returns the command of the CLI that acts as the user; null if there is none. */
export function decidingCommand(text: string): string | null {
  for (const command of commandsIn(text)) {
    const words = command.map((word) => word.toLowerCase());
    for (const [at, word] of words.entries()) {
      if (!program.test(word)) continue;
      const decision = decisionIn(words.slice(at + 1), isStarted(words.slice(0, at)));
      if (decision !== null) return `aegis ${decision}`.trim();
    }
  }
  return null;
}

/** The CLI by its name, its path, its file, or a version of its package. */
const program = /(?:^|\/)(?:aegis|cli\.js)(?:@[\w.^~*-]{1,40})?(?:\.(?:cmd|exe|ps1))?$/;

/** The words before the program start it, rather than use its name as an argument. */
function isStarted(before: readonly string[]): boolean {
  return before.every((word) => word.startsWith("-") || /^\w+=/.test(word) || starters.test(word));
}

const starters =
  /(?:^|\/)(?:node|bun|deno|npx|pnpx|bunx|npm|pnpm|yarn|exec|dlx|run|x|env|sudo|doas|command|builtin|eval|time|nohup|setsid|nice|timeout|\d+[smh]?|xargs|script|then|do|else|!)$/;

function decisionIn(after: readonly string[], started: boolean): string | null {
  // These flags answer every confirmation with yes, or end what they find.
  if (after.some((one) => one === "--yes" || one === "-y")) return "… --yes";
  if (after.includes("--fix")) return "… --fix";
  const names = namesAfter(after);
  const shown = commandAt(names, showingCommands);
  if (shown !== null || names[0] === "help") return null;
  // An unknown option may take the first word as its value.
  const acting = commandAt(names, actingCommands) ?? commandAt(names.slice(1), actingCommands);
  if (acting !== null) return acting;
  if (!started) return null;
  const asks = after.some((one) => /^(?:--help|-h|--version)$/.test(one));
  return names.length === 0 && asks ? null : (names[0] ?? "");
}

/** The words without options, without the folder that the one global option with a value names, and without paths. */
function namesAfter(words: readonly string[]): string[] {
  return words.filter(
    (one, at) => !one.startsWith("-") && !one.includes("/") && !/^(?:-c|--project)$/.test(words[at - 1] ?? ""),
  );
}

function commandAt(names: readonly string[], known: ReadonlySet<string>): string | null {
  return [3, 2, 1].map((length) => names.slice(0, length).join(" ")).find((path) => known.has(path)) ?? null;
}
