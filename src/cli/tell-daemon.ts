/** Has a running daemon take over what a command changed: it would notice by itself, but later than whoever looks next. */
import { findDaemon } from "./connection.ts";
import type { Terminal } from "./terminal.ts";

export async function tellDaemon(cx: Terminal): Promise<void> {
  const running = await findDaemon(cx);
  await running?.client.call("reloadConfig").catch(() => {});
  await running?.client.call("reloadPlugins", { body: {} }).catch(() => {});
}
