/**
 * A recipe describes how to start one ACP agent and where it deviates from the protocol. The driver reads fields and
 * never checks an agent's name, so a new agent needs only a new recipe.
 */
import type { Agent, Permission } from "@aegis/contract/agent.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { ChosenServers } from "../cli-harness/mcp-servers.ts";
import type { Program } from "../cli-harness/probe.ts";
import type { HarnessFacts } from "../harness.ts";
import type { ToolNaming } from "./tool-calls.ts";
import type { UsageStyle } from "./usage.ts";

export type AcpRecipe = HarnessFacts & {
  program: Program;
  /** True if the agent's options must name the program. */
  commandRequired: boolean;
  /** What the user must do if the agent reports that it is not logged in. */
  login: string;
  /** Names of the daemon's environment variables that the agent may see, in the syntax of `childEnv`. */
  passEnv: readonly string[];
  launch(context: LaunchContext): Promise<AcpLaunch>;
  /** The agent's modes for each permission, best first. An agent that has none of them stays in its default mode. */
  modes: Record<Permission, readonly string[]>;
  plane: {
    /**
     * How long the first prompt waits for the agent to list the plane's tools; 0 if the agent connects on that prompt.
     */
    waitMs: number;
    /**
     * How long after opening the session a first request still shows that the agent connects by itself. An agent that
     * sends none connects when it needs a tool: Aegis does not wait for it, and a missing connection is not a failure.
     * Null for an agent that is known to connect when its session opens.
     */
    lazyAfterMs: number | null;
    /** The time between listing the tools and the first prompt that can use them. */
    settleMs: number;
  };
  naming: ToolNaming;
  usage: UsageStyle;
  /** `launch` if the recipe passes the system prompt itself; otherwise it precedes the first message. */
  introduction: "launch" | "prompt";
  quirks: Quirks;
};

export type Quirks = {
  /** The agent continues to replay history after the answer to `session/load`. */
  replayAfterLoad: boolean;
  /** A permission request arrives before the tool's arguments; this is how long to wait for them. */
  lateInputMs: number;
  /** Message chunks with this prefix announce a mode and are not part of the answer. */
  modeEcho: string | null;
  /** The narrowest of the options that allow a tool for the session. If empty, the first of that kind is used. */
  allowAlways: readonly string[];
  /** Makes the harness's record of a conversation safe to load. Runs before the process that loads it starts. */
  beforeResume: ((conversation: string, context: LaunchContext) => Promise<void>) | null;
};

export type LaunchContext = {
  agent: Agent;
  /**
   * Plugins or Aegis judge tool calls, so the agent must ask about each of its own tools, independent of its permission.
   */
  gated: boolean;
  /** The project folder; the project may declare MCP servers too. */
  cwd: string;
  stateDir: string;
  systemPrompt: string;
  /** The daemon's environment, overridden by the agent's. */
  env: Environment;
  /** The MCP servers besides the plane that the agent may use. */
  servers: ChosenServers;
};

export type AcpLaunch = {
  args: readonly string[];
  /**
   * Arguments that exclude MCP servers other than the plane and those of the agent's `mcp`. Passed even if the agent's
   * options replace `args`.
   */
  onlyPlane: readonly string[];
  env: Record<string, string>;
  /** Files written to the state folder before the start, readable only by their owner. */
  files: readonly { name: string; content: string }[];
  /** Links in the state folder to files that stay in place, such as a login. */
  links: readonly { name: string; target: string }[];
  /** Warnings for the user about this start. */
  warnings: readonly string[];
};

export const plainLaunch: AcpLaunch = { args: [], onlyPlane: [], env: {}, files: [], links: [], warnings: [] };

export const noQuirks: Quirks = {
  replayAfterLoad: false,
  lateInputMs: 0,
  modeEcho: null,
  allowAlways: [],
  beforeResume: null,
};
