/**
 * A recipe says how one ACP agent is started and where it departs from the protocol. The driver reads fields, never
 * an agent's name, so that a new agent is a new recipe.
 */
import type { Agent, Permission } from "../../contract/agent.ts";
import type { Environment } from "../../lib/child-env.ts";
import type { Program } from "../cli-harness/probe.ts";
import type { ToolNaming } from "./tool-calls.ts";
import type { UsageStyle } from "./usage.ts";

export type AcpRecipe = {
  harness: string;
  program: Program;
  /** True when the agent's options must name the program. */
  commandRequired: boolean;
  /** What a user does when it says it is not logged in. */
  login: string;
  /** Names of the daemon's environment that the agent may see, as `childEnv` takes them. */
  passEnv: readonly string[];
  launch(context: LaunchContext): Promise<Launch>;
  /** The agent's own mode for a permission, best first; an agent that has none of them stays in its default. */
  modes: Record<Permission, readonly string[]>;
  plane: {
    /** How long the first prompt waits for the agent to list the plane's tools; 0 where it connects on that prompt. */
    waitMs: number;
    /** What the agent needs after listing before a prompt sees the tools. */
    settleMs: number;
  };
  naming: ToolNaming;
  usage: UsageStyle;
  /** `launch` when the recipe hands the system prompt over itself, else it goes before the first message. */
  introduction: "launch" | "prompt";
  quirks: Quirks;
};

export type Quirks = {
  /** History goes on being replayed after the answer to `session/load`. */
  replayAfterLoad: boolean;
  /** A permission request comes before the arguments of the tool; this is how long they may take to follow. */
  lateInputMs: number;
  /** Message chunks that begin with this announce a mode and are not the agent's words. */
  modeEcho: string | null;
  /** The narrow ones among the options that allow a tool for the session. Empty: the first of that kind. */
  allowAlways: readonly string[];
  /** Makes the harness's record of a conversation safe to load. Runs before the process that loads it starts. */
  beforeResume: ((conversation: string, context: LaunchContext) => Promise<void>) | null;
};

export type LaunchContext = {
  agent: Agent;
  /** Plugins judge tool calls: the agent must ask about each of its own, whatever its permission. */
  gated: boolean;
  /** Where the agent works: its project may declare MCP servers too. */
  cwd: string;
  stateDir: string;
  systemPrompt: string;
  /** The daemon's own environment with the agent's over it. */
  env: Environment;
};

export type Launch = {
  args: readonly string[];
  /** Keeps MCP servers other than the plane out. Given also when the agent's options replace `args`. */
  onlyPlane: readonly string[];
  env: Record<string, string>;
  /** Written into the state folder before the start, private to its owner. */
  files: readonly { name: string; content: string }[];
  /** Links in the state folder to what stays where it is, such as a login. */
  links: readonly { name: string; target: string }[];
  /** What a user should know about this start. */
  warnings: readonly string[];
};

export const plainLaunch: Launch = { args: [], onlyPlane: [], env: {}, files: [], links: [], warnings: [] };

export const noQuirks: Quirks = {
  replayAfterLoad: false,
  lateInputMs: 0,
  modeEcho: null,
  allowAlways: [],
  beforeResume: null,
};
