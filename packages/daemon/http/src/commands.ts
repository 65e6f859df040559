import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Commands } from "@aegis/skills/commands/commands.ts";
import type { Handlers } from "./requests.ts";

/** What these handlers call. */
export type CommandServices = {
  commands: Pick<Commands, "list" | "run">;
  sessions: Pick<Sessions, "resolve">;
};

export function commandHandlers({ commands, sessions }: CommandServices) {
  return {
    listCommands: () => commands.list(),
    async runCommand({ path, body }, signal) {
      const row = body.session === undefined ? null : await sessions.resolve(body.session);
      const session = row === null ? null : { id: row.id, handle: row.handle };
      return commands.run(path.command, body.arguments, { session, agent: row?.agent ?? null }, signal);
    },
  } satisfies Partial<Handlers>;
}
