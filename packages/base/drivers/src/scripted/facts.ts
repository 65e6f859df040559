/** What Aegis knows about the offline agent. */
import { type HarnessFacts, needsNothing } from "../harness.ts";

export const scriptedFacts: HarnessFacts = {
  harness: "scripted",
  program: null,
  detect: null,
  projectFiles: [],
  logins: [],
  userFiles: [],
  sandbox: () => needsNothing,
  callsModel: false,
  asksByItself: true,
  scopesTools: "playbook",
  usesServers: false,
  projectServersOnly: false,
  skillFolders: [],
  agentFolder: null,
  models: { vendor: null, aliases: [] },
  limitsCalls: false,
  mcpTarget: null,
};
