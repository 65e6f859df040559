/** Slash commands that plugins bring. */
import { AegisError } from "../../contract/errors.ts";
import { didYouMean } from "../../lib/nearest.ts";

export type CommandCaller = { session: { id: string; handle: string } | null; agent: string | null };

export type Command = {
  name: string;
  plugin: string;
  description: string;
  argumentHint: string | null;
  /** Gets what was typed behind the command. Gives text to show, or a map that says what to do with it. */
  run(args: string, caller: CommandCaller, signal: AbortSignal): Promise<unknown>;
};

export class CommandRegistry {
  readonly #commands = new Map<string, Command>();

  /** Returns its undo. A name that is taken is refused, never overwritten. */
  add(command: Command): () => void {
    const { name, plugin } = command;
    const other = this.#commands.get(name);
    if (other !== undefined)
      throw new AegisError(
        "conflict",
        `the plugin "${plugin}" cannot bring a command "/${name}": "${other.plugin}" has one`,
      );
    this.#commands.set(name, command);
    return () => {
      if (this.#commands.get(name) === command) this.#commands.delete(name);
    };
  }

  list(): Command[] {
    return [...this.#commands.values()];
  }

  /** Throws `not_found` with the nearest name. */
  get(name: string): Command {
    const command = this.#commands.get(name);
    if (command) return command;
    throw new AegisError("not_found", `no command "/${name}"${didYouMean(name, this.#commands.keys())}`);
  }
}
