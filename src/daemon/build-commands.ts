/** Makes the slash commands: where their pages lie, which of them may be used, and who calls. */
import { homedir } from "node:os";
import type { Environment } from "../lib/child-env.ts";
import { Commands } from "../runtime/commands/commands.ts";
import type { CommandRegistry } from "../runtime/registry/commands.ts";
import type { Sessions } from "../runtime/sessions/sessions.ts";
import type { CommandService } from "../server/services.ts";
import type { ProjectTrust } from "./build-trust.ts";
import { commandFolders, commandItem } from "./trust/items.ts";

export type BuildCommandsOptions = {
  root: string;
  env: Environment;
  trust: Pick<ProjectTrust, "trust">;
  registry: CommandRegistry;
  sessions: Sessions;
};

export function buildCommands({ root, env, trust, registry, sessions }: BuildCommandsOptions): CommandService {
  const home = env.HOME ?? homedir();
  const commands = new Commands({
    registry,
    folders: [
      ...commandFolders.map((path) => ({ source: "project", root, path }) as const),
      // A project in the user's own folder has the same pages; they are then the project's.
      ...(home === root ? [] : commandFolders.map((path) => ({ source: "user", root: home, path }) as const)),
    ],
    async refusal(file) {
      const verdict = await trust.trust.judge(commandItem(file));
      return verdict.allowed ? null : `${file.path}: ${verdict.message}`;
    },
  });
  return {
    list: () => commands.list(),
    async run({ name, arguments: args, session }, signal) {
      const row = session === undefined ? null : await sessions.resolve(session);
      const caller =
        row === null
          ? { session: null, agent: null }
          : { session: { id: row.id, handle: row.handle }, agent: row.agent };
      return commands.run(name, args, caller, signal);
    },
  };
}
