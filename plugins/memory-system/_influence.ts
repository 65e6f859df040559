/**
 * Tracks whose words an agent may be repeating. A peer's message or outside content can lead an agent to save false
 * memories. What it saves in such a turn is held for review.
 *
 * Stored on disk, because a turn may continue in the plugin's next worker.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PreTurnContext } from "aegis";
import type { Source } from "./_entries.ts";

type Turn = { peer: boolean; outside: boolean };

export class Influence {
  readonly #dir: string;

  constructor(dataDir: string) {
    this.#dir = join(dataDir, "turns");
  }

  async turnBegins(session: string, senders: PreTurnContext["senders"]): Promise<void> {
    const peer = senders.some((sender) => sender.kind === "agent" || sender.kind === "group");
    await mkdir(this.#dir, { recursive: true });
    await this.#note(session, { peer, outside: false });
  }

  async readFromOutside(session: string): Promise<void> {
    await this.#note(session, { ...(await this.#turn(session)), outside: true });
  }

  async forget(session: string): Promise<void> {
    await rm(this.#path(session), { force: true });
  }

  /** The source that the agent claims counts only if it is stricter. */
  async sourceOf(session: string, claimed: Source | undefined): Promise<Source> {
    const { peer, outside } = await this.#turn(session);
    if (peer || claimed === "peer") return "peer";
    if (outside || claimed === "tool") return "tool";
    return claimed ?? "agent";
  }

  async #turn(session: string): Promise<Turn> {
    try {
      return JSON.parse(await readFile(this.#path(session), "utf8")) as Turn;
    } catch {
      // The plugin was loaded in the middle of the turn, so the sender is unknown.
      return { peer: true, outside: false };
    }
  }

  async #note(session: string, turn: Turn): Promise<void> {
    await writeFile(this.#path(session), JSON.stringify(turn));
  }

  #path(session: string): string {
    return join(this.#dir, `${session.replace(/[^A-Za-z0-9_]/g, "")}.json`);
  }
}
