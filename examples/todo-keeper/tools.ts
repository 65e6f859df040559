/** Tools for agents. */
import { tool, z } from "aegis";
import { shown, TodoList } from "./_list.ts";

export const todo_add = tool(
  {
    description: "Puts something on the list of things to do. An item that is already on the list is not added again.",
    input: z.object({ value: z.string().min(1).describe("what to do, in one line") }),
    permission: "write",
  },
  async ({ value }, context) => {
    const { id, text } = await new TodoList(context.dataDir).add(value);
    return `${id}. ${text}`;
  },
);

export const todo_done = tool(
  {
    description: "Takes an item off the list because it is done.",
    input: z.object({ value: z.coerce.number().int().describe("the item's number") }),
    permission: "write",
  },
  async ({ value }, context) => {
    const list = new TodoList(context.dataDir);
    await list.finish(value);
    return shown(await list.open()) || "nothing is left to do";
  },
);
