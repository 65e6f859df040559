/** The names of agents that exist without being declared in the configuration. */
import { homedir } from "node:os";
import { offlineAgent } from "../harnesses/detect.ts";
import { AgentFiles } from "./files.ts";
import { agentPlaces } from "./places.ts";

export async function undeclaredAgents(root: string): Promise<string[]> {
  const { profiles } = await new AgentFiles().load(agentPlaces(root, homedir()));
  return [...new Set([offlineAgent.slug, ...profiles.map((profile) => profile.slug)])];
}
