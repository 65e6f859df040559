import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type CommandHandlers = Pick<Handlers, "listCommands" | "runCommand">;

export function commandHandlers({ commands }: Services): CommandHandlers {
  return {
    listCommands: () => commands.list(),
    runCommand: ({ path, body }, signal) => commands.run({ name: path.command, ...body }, signal),
  };
}
