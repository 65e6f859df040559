/** What the daemon's live tests know of one real CLI: how to point it at a fake model, and where it differs from the others. */
import type { Agent } from "@aegis/contract/agent.ts";
import type { Driver, DriverDeps } from "@aegis/drivers/driver.ts";

export type LiveHarness = {
  /** As agents name it. */
  harness: string;
  /** The name of its agent, if it is not that of the harness. */
  agent?: string;
  /** The npm package whose pinned version was driven. */
  package: string;
  createDriver(deps: DriverDeps): Driver;
  start(folder: string): Promise<LiveModel>;
  /** A tool of the plane as the model names it. */
  planeTool(name: string): string;
  /** A prompt whose tool call needs a person's consent and makes the file at this path. */
  makeFile(path: string): string;
  /** Where the CLI keeps its conversations. */
  histories(places: Places): Promise<string[]>;
  /** The texts of users in the CLI's own record of its conversations. */
  prompts(places: Places): Promise<string[]>;
  expected: Expected;
};

/** `folder` is the one that `start` was given. */
export type Places = { folder: string; home: string; state: string };

/** The fake model of one test, and an agent that uses it. */
export type LiveModel = {
  agent: Pick<Agent, "model" | "env" | "options"> & Partial<Pick<Agent, "permission">>;
  /** The model calls that offered tools, oldest first, as JSON: others make titles and the like. */
  calls(): string[];
  close(): Promise<void>;
};

/** Where the CLIs differ. Each test holds its CLI to this, so that a new version that changes it is noticed. */
export type Expected = {
  /** What the CLI writes to the model when a person denies a call. */
  denial: string;
  /** The reason of a denial races with the end of the turn inside the CLI, so either may be seen. */
  denialRaces?: true;
  /** Whether it can read an answer of a tool that is a JSON list. */
  readsLists: boolean;
  /** By HTTP status: the code that a failed model call ends the turn with, or that the CLI tries again for minutes. */
  failures: Record<FailedStatus, string>;
};

export const failedStatuses = [401, 429, 529] as const;
export type FailedStatus = (typeof failedStatuses)[number];
