/** What Aegis knows about its own agent loop. */
import type { HarnessFacts } from "../harness.ts";

export const nativeFacts: HarnessFacts = {
  harness: "native",
  program: null,
  detect: null,
  projectFiles: [],
  logins: [],
  userFiles: [],
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
