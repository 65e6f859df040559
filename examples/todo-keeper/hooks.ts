/** Tells agents about the list without being asked. */
import { hook } from "aegis";
import { shown, TodoList } from "./_list.ts";

export const remind = hook("pre_turn", async (_, { config, dataDir }) => {
  const items = await new TodoList(dataDir).open();
  if (items.length < Number(config.remind_after ?? 1)) return null;
  return { prependSystem: `Still to do in this project:\n${shown(items)}` };
});
