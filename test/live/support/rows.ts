/** The rows of the table in `docs/drivers.md`, in its order. */
import type { Capabilities } from "../../../src/drivers/driver.ts";

export const rows = {
  memory: "remembers earlier turns",
  live_text: "text as it is written",
  plane: "calls the team's tools, nobody is asked",
  lists: "reads a team tool's answer that is a list",
  handoff: "hands work to another harness, and takes it",
  enqueue: "puts a task into a queue and hears of its end",
  interrupt: "an interrupt ends the turn, the session goes on",
  ask: "asks before a tool runs",
  denial: "after a denial the model is told",
  scope: "a call of a tool that is not its agent's is refused, nobody is asked",
  died: "killed mid-turn: the turn fails, the session goes on with its memory",
  daemon_killed: "daemon killed mid-turn: nothing is left running or repeated",
  history_gone: "its history deleted: says so and starts afresh",
  failure_401: "the model answers 401",
  failure_429: "the model answers 429",
  failure_529: "the model answers 529",
} as const;
export type Row = keyof typeof rows;

/** What a driver claims of itself. */
export const claims: Record<keyof Capabilities, string> = {
  resume: "resumes a conversation in a new process",
  mcp: "reaches the team over MCP",
  permissions: "asks for permission",
  steer: "takes a message into the turn under way",
  fork: "forks a conversation",
  images: "takes images",
};
