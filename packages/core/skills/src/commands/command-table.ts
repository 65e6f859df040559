/** The slash commands of plugins. */
import { AegisError } from "@aegis/contract/errors.ts";

export type CommandCaller = { session: { id: string; handle: string } | null; agent: string | null };

export type SlashCommand = {
  name: string;
  plugin: string;
  /** The plugin's position among the plugins: the first plugin with a name gets it. */
  order: number;
  description: string;
  argumentHint: string | null;
  /** The page that defines it; null for code. */
  file: string | null;
  /** Receives the text after the command. Returns text to display, or a map that says what to do with it. */
  run(args: string, caller: CommandCaller, signal: AbortSignal): Promise<unknown>;
};

export class CommandTable {
  readonly #commands = new Set<SlashCommand>();

  /** Returns a function that removes the command. A name is unique within a plugin; other plugins may also use it. */
  add(command: SlashCommand): () => void {
    const { name, plugin } = command;
    for (const other of this.#commands)
      if (other.plugin === plugin && other.name === name)
        throw new AegisError("conflict", `the plugin "${plugin}" cannot define a command "/${name}" twice`);
    this.#commands.add(command);
    return () => void this.#commands.delete(command);
  }

  /** The commands by plugin order, then in the order in which they were added. */
  list(): SlashCommand[] {
    return [...this.#commands].sort((a, b) => a.order - b.order);
  }
}
