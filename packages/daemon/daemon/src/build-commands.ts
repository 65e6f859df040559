/** Builds the slash commands: the folders of their pages, the trust check and the caller. */

import type { Environment } from "@aegis/lib/child-env.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { commandFolders } from "@aegis/project/trust/items.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import type { CommandTable } from "@aegis/skills/commands/command-table.ts";
import { Commands } from "@aegis/skills/commands/commands.ts";

export type BuildCommandsOptions = {
  root: string;
  env: Environment;
  judge: Pick<ConsentCheck, "command">;
  table: CommandTable;
};

export function buildCommands({ root, env, judge, table }: BuildCommandsOptions): Commands {
  const home = homeOf(env);
  return new Commands({
    table,
    folders: [
      ...commandFolders.map((path) => ({ source: "project", root, path }) as const),
      // If the project is the user's home folder, both have the same pages; they count as the project's.
      ...(home === root ? [] : commandFolders.map((path) => ({ source: "user", root: home, path }) as const)),
    ],
    async refusal(file) {
      const verdict = await judge.command(file);
      return verdict.allowed ? null : `${file.path}: ${verdict.message}`;
    },
  });
}
