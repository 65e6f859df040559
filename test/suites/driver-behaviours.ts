/**
 * What a driver's fixture agent must be able to do. It does what the prompt names: the word after `do:`. A word that a
 * fixture cannot show is listed as absent with its reason; the cases that need it are then left out.
 */
import type { Agent } from "@aegis/contract/agent.ts";
import type { Driver, DriverDeps } from "@aegis/drivers/driver.ts";

export const hugeTextLength = 15 * 1024 * 1024;

/** What the fixture does when told `do:<word>`. */
export const behaviours = {
  reply: 'says "pong"',
  stream: 'says "one two three" in at least three deltas',
  think: 'thinks something, then says "pong"',
  tool: 'calls a tool of its own, gets the result, then says "pong"',
  slow: "says the beginning of something as a delta, then goes on until it is stopped",
  hang: "takes the prompt and does nothing until it is stopped",
  die: 'says something as a delta, writes "dying words" to stderr if it has one, and is gone',
  fail: 'ends the turn with an error that says "boom"; the conversation goes on',
  refuse: "declines to answer; the conversation goes on",
  garbage: 'writes lines that are not of its protocol, then says "pong"',
  hugeLine: `says one text of ${hugeTextLength} characters "x"`,
  ignoresTerm: 'ignores SIGTERM, starts a grandchild that does so too, says "pids: <its own> <grandchild\'s>"',
  asks: 'asks for permission to use a tool, then says "allowed" or "denied"',
  notice: 'says "pong"; after the turn it says something that belongs to none',
  spontaneous: 'says "pong"; after the turn it starts one by itself and says "by myself"',
  unknownEvent: 'sends an unknown event, then says "pong"',
  steered: 'says something as a delta, waits for what joins the turn, then says "also: <that>"',
  picture: 'says "images: <n>": how many images came with the prompt',
  echo: "says the whole prompt back",
  recall: 'says "prompts: <n>": how many prompts this conversation has had, this one included',
} as const;

export type Behaviour = keyof typeof behaviours;

export type DriverUnderTest = {
  /** A fresh driver and an agent of its fixture harness. `dir` is the project's folder. */
  make(context: { behaviour: Behaviour; deps: DriverDeps; dir: string }): Promise<{ driver: Driver; agent: Agent }>;
  /** What the fixture cannot show, each with the reason. */
  absent: Partial<Record<Behaviour, string>>;
};

export function promptFor(behaviour: Behaviour): string {
  return `do:${behaviour}`;
}
