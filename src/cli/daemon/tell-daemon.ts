/**
 * Makes a running daemon apply a change at once. It would notice by itself, but maybe after the user's next command.
 */
import type { Terminal } from "../terminal/terminal.ts";
import { findDaemon } from "./connection.ts";

export async function tellDaemon(cx: Terminal): Promise<void> {
  const running = await findDaemon(cx);
  await running?.client.call("reloadConfig").catch(() => {});
  await running?.client.call("reloadPlugins", { body: {} }).catch(() => {});
}
