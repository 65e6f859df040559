/**
 * Whether the agent has reached the plane. Agents do not say when they cannot reach an MCP server; that nobody listed its
 * tools is the only sign.
 */
import type { Clock } from "../../lib/clock.ts";
import type { ConversationSpec, DriverEvent } from "../driver.ts";
import type { AcpRecipe } from "./recipe.ts";

export class PlaneReach {
  readonly #plane: ConversationSpec["plane"];
  readonly #recipe: AcpRecipe;
  readonly #clock: Clock;
  #awaited = false;
  #checked = false;

  constructor(plane: ConversationSpec["plane"], recipe: AcpRecipe, clock: Clock) {
    this.#plane = plane;
    this.#recipe = recipe;
    this.#clock = clock;
  }

  /** Before the first prompt: some agents connect late, and would not see their peers. */
  async wait(signal: AbortSignal): Promise<void> {
    const { waitMs, settleMs } = this.#recipe.plane;
    if (this.#awaited || this.#plane === null || waitMs === 0) return;
    this.#awaited = true;
    const listed = await this.#plane.listed(waitMs, signal).catch(() => false);
    if (listed && settleMs > 0) await this.#clock.sleep(settleMs, signal).catch(() => {});
  }

  /** After the first answer. */
  async check(emit: (event: DriverEvent) => void, signal: AbortSignal): Promise<void> {
    if (this.#checked || this.#plane === null) return;
    this.#checked = true;
    if (await this.#plane.listed(0, signal).catch(() => true)) return;
    const text = `${this.#recipe.program.name} did not connect to Aegis, so this agent cannot see or call its peers.`;
    emit({ type: "notice", level: "error", text });
  }
}
