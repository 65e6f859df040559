/** `aegis pool`: the agents that are kept for the next task. */
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { type Cell, columns } from "../format/columns.ts";
import { createStyle } from "../format/style.ts";
import { relativeTime } from "../format/time.ts";
import type { Terminal } from "../terminal.ts";

export async function pool(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listPool");
  if (cx.json) {
    cx.printJson(answer);
    return exitCodes.ok;
  }
  if (answer.agents.length === 0) {
    cx.print(`The pool is empty; it keeps up to ${answer.max} agents.`);
    return exitCodes.ok;
  }
  const style = createStyle(cx.color);
  const header: Cell[] = ["AGENT", "SESSION", "STATE", "TASKS", "LAST USED", "ID"].map((text) => ({
    text,
    paint: style.dim,
  }));
  const rows = answer.agents.map((one): Cell[] => [
    { text: one.key, paint: style.cyan },
    { text: one.handle },
    { text: one.stale ? `${one.state} (changed)` : one.state, paint: one.state === "busy" ? style.green : style.dim },
    { text: String(one.uses) },
    { text: relativeTime(one.last_used_at, Date.now()) },
    { text: one.session },
  ]);
  for (const line of columns(header, rows, cx.columns)) cx.print(line);
  cx.print(style.dim(`${answer.agents.length} of ${answer.max}`));
  return exitCodes.ok;
}
