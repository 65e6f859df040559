import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { slashCommands } from "../src/chat/slash.ts";
import { suggest } from "../src/program/complete.ts";
import { commandGroups, commands } from "../src/program/table.ts";
import { exitCodes } from "../src/terminal/context.ts";

const ask = (...words: string[]) => suggest(words, commands, commandGroups);
const values = (...words: string[]) => ask(...words).candidates.map((candidate) => candidate.value);

describe("what the shell is offered", () => {
  it("names commands, and the words that lead to more", () => {
    expect(values("sta")).toEqual(["status", "state"]);
    expect(values("conf")).toEqual(["config"]);
    expect(values("config", "agent", "")).toEqual(["add", "remove", "list"]);
    expect(values("").some((value) => value.startsWith("__"))).toBe(false);
  });

  it("asks the daemon for sessions and agents where they belong", () => {
    expect(ask("send", "").ask).toBe("session");
    expect(ask("send", "lucid-hertz", "").ask).toBe("command");
    expect(ask("close", "one-two", "").ask).toBe("session");
    expect(ask("run", "--agent", "").ask).toBe("agent");
    expect(ask("-C", "").ask).toBe("file");
    expect(ask("-C", "/tmp", "spawn", "").ask).toBe("agent");
    expect(ask("queue", "enqueue", "").ask).toBe("queue");
    expect(ask("queue", "add", "").ask).toBeNull();
    expect(ask("task", "list", "--queue", "").ask).toBe("queue");
    expect(ask("queue", "cancel", "tsk_1", "").ask).toBe("task");
    expect(ask("task", "show", "").ask).toBe("task");
  });

  it("knows options, values from a list, and skips an option's value", () => {
    expect(values("logs", "--f")).toEqual(["--follow"]);
    expect(values("completion", "z")).toEqual(["zsh"]);
    expect(ask("run", "--timeout", "5s", "--agent", "").ask).toBe("agent");
  });
});

describe("the table", () => {
  it("is documented: every command with its arguments and options", () => {
    // However wide its columns are.
    const page = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8").replaceAll(/ {2,}\|/g, " |");
    for (const command of commands) {
      const synopsis = ["aegis", command.path, ...(command.arguments ?? []).map((argument) => argument.synopsis)].join(
        " ",
      );
      const row = page.split("\n").find((line) => line.startsWith(`| \`${synopsis}\` |`));
      expect(row, synopsis).toBeDefined();
      for (const option of command.options.filter(({ hidden }) => hidden !== true))
        expect(row, synopsis).toContain(`\`${option.flags}\``);
    }
    for (const code of Object.values(exitCodes)) expect(page).toContain(`| ${code} |`);
    for (const command of Object.values(slashCommands)) expect(page).toContain(`\`${command.synopsis}\``);
  });

  it("has an example for every command, and each begins with a command of the table", () => {
    for (const command of commands) {
      expect(command.examples, command.path).not.toHaveLength(0);
      expect(command.examples[0], command.path).toContain(`aegis ${command.path}`);
    }
  });
});

it("describes every word that stands before other commands", () => {
  const prefixes = commands.flatMap(({ path }) => {
    const words = path.split(" ");
    return words.slice(1).map((_, index) => words.slice(0, index + 1).join(" "));
  });
  expect(prefixes.filter((prefix) => commandGroups[prefix] === undefined)).toEqual([]);
});
