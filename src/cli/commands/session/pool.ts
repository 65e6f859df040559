/** `aegis pool`: lists the idle agents that are kept for the next task. */
import { type Cell, columns, heading } from "../../format/columns.ts";
import { relativeTime } from "../../format/time.ts";
import type { Handler } from "../../program/command.ts";
import type { subagentCommands } from "./spec.ts";

export const pool: Handler<typeof subagentCommands.pool> = async (cx) => {
  const answer = await cx.call("listPool");
  if (answer.agents.length === 0) return cx.show(answer, `The pool is empty; it keeps up to ${answer.max} agents.`);
  const { style } = cx;
  const header = heading(style, ["AGENT", "SESSION", "STATE", "TASKS", "LAST USED", "ID"]);
  const rows = answer.agents.map((one): Cell[] => [
    { text: one.key, paint: style.cyan },
    { text: one.handle },
    { text: one.stale ? `${one.state} (changed)` : one.state, paint: one.state === "busy" ? style.green : style.dim },
    { text: String(one.uses) },
    { text: relativeTime(one.last_used_at, Date.now()) },
    { text: one.session },
  ]);
  cx.show(answer, () => [...columns(header, rows, cx.columns), style.dim(`${answer.agents.length} of ${answer.max}`)]);
};
