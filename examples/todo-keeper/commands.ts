/** Commands for people. */
import { command } from "aegis";
import { shown, TodoList } from "./_list.ts";

export const todos = command(
  {
    name: "todos",
    description: "Shows the list, adds to it, or has an item done",
    argumentHint: "[add <text> | do <n>]",
  },
  async (args, { dataDir }) => {
    const list = new TodoList(dataDir);
    const [, verb = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(args) ?? [];
    if (verb === "") return shown(await list.open()) || "Nothing is left to do.";
    if (verb === "add" && rest !== "") return shown([await list.add(rest)]);
    const item = verb === "do" ? (await list.open()).find(({ id }) => id === Number(rest)) : undefined;
    if (item === undefined) throw new Error("expected: /todos, /todos add <text>, /todos do <number of an open item>");
    return { prompt: `Do this, then call todo_done with ${item.id}: ${item.text}` };
  },
);
