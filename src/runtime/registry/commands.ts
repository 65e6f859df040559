/** Slash commands that plugins bring. */
import { AegisError } from "../../contract/errors.ts";

export type CommandCaller = { session: { id: string; handle: string } | null; agent: string | null };

export type Command = {
  name: string;
  plugin: string;
  /** The plugin's place among the others: the first one to have a name answers to it. */
  order: number;
  description: string;
  argumentHint: string | null;
  /** The page it stands on; null for code. */
  file: string | null;
  /** Gets what was typed behind the command. Gives text to show, or a map that says what to do with it. */
  run(args: string, caller: CommandCaller, signal: AbortSignal): Promise<unknown>;
};

export class CommandRegistry {
  readonly #commands = new Set<Command>();

  /** Returns its undo. A plugin has each name once; other plugins may have it too. */
  add(command: Command): () => void {
    const { name, plugin } = command;
    for (const other of this.#commands)
      if (other.plugin === plugin && other.name === name)
        throw new AegisError("conflict", `the plugin "${plugin}" cannot bring a command "/${name}" twice`);
    this.#commands.add(command);
    return () => void this.#commands.delete(command);
  }

  /** Plugins in their order, the commands of each as they were added. */
  list(): Command[] {
    return [...this.#commands].sort((a, b) => a.order - b.order);
  }
}
