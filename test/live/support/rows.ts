/** The rows of the table in `docs/drivers.md`, in its order. */
import type { Capabilities } from "@aegis/drivers/driver.ts";

export const rows = {
  memory: "remembers earlier turns",
  live_text: "streams text",
  plane: "calls plane tools without an approval",
  lists: "reads a plane tool's result that is a list",
  handoff: "hands work to another harness, and receives work",
  enqueue: "puts a task into a queue and receives the result",
  interrupt: "an interrupt ends the turn, the session continues",
  ask: "asks before a tool runs",
  denial: "after a denial the model receives",
  scope: "a call of a tool that its agent does not have is refused without an ask",
  died: "killed during a turn: the turn fails, the session continues with its memory",
  daemon_killed: "daemon killed during a turn: no process is left and nothing is repeated",
  history_gone: "history deleted: reports it and starts a new conversation",
  failure_401: "the model answers 401",
  failure_429: "the model answers 429",
  failure_529: "the model answers 529",
} as const;
export type Row = keyof typeof rows;

/** What a driver claims of itself. */
export const claims: Record<keyof Capabilities, string> = {
  resume: "resumes a conversation in a new process",
  mcp: "connects to the plane over MCP",
  permissions: "asks for permission",
  steer: "accepts a message during a turn (steering)",
  fork: "forks a conversation",
  images: "accepts images",
};
