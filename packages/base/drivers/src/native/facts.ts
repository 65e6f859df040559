/** What Aegis knows about its own agent loop. */
import { type HarnessFacts, needsNothing } from "../harness.ts";

export const nativeFacts: HarnessFacts = {
  harness: "native",
  program: null,
  detect: null,
  projectFiles: [],
  logins: [],
  userFiles: [],
  sandbox: () => needsNothing,
  callsModel: true,
  asksByItself: true,
  scopesTools: "removed",
  usesServers: false,
  projectServersOnly: false,
  skillFolders: [],
  agentFolder: null,
  models: { vendor: null, aliases: [] },
  limitsCalls: true,
  mcpTarget: null,
};
