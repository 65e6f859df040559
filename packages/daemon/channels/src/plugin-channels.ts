/** The channels that loaded plugins provide, by name. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { WorkerChannel } from "@aegis/plugins/contribute.ts";

export type BroughtChannel = WorkerChannel & {
  /** Differs between two loads of the same plugin. */
  load: number;
};

export class PluginChannels {
  readonly #channels = new Map<string, BroughtChannel>();
  #changed: () => void = () => {};
  #loads = 0;

  /** `changed` is called after each change. */
  follow(changed: () => void): void {
    this.#changed = changed;
  }

  /** Returns its undo. Throws `conflict` for a name in use. */
  add(channel: WorkerChannel): () => void {
    const { name } = channel;
    const known = this.#channels.get(name);
    if (known !== undefined)
      throw new AegisError("conflict", `a channel "${name}" exists already, from the plugin ${known.plugin}`);
    this.#loads += 1;
    const brought = { ...channel, load: this.#loads };
    this.#channels.set(name, brought);
    this.#changed();
    return () => {
      if (this.#channels.get(name) !== brought) return;
      this.#channels.delete(name);
      this.#changed();
    };
  }

  all(): readonly BroughtChannel[] {
    return [...this.#channels.values()];
  }
}
