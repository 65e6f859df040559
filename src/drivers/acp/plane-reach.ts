/**
 * Checks whether the agent has reached the plane. Agents do not report an unreachable MCP server; the only sign is that
 * the agent did not list its tools. For an agent that connects only when it needs a tool, this is not a sign of
 * failure.
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
  /** The agent sent no request to the plane before its first prompt. */
  #isLazy = false;

  constructor(plane: ConversationSpec["plane"], recipe: AcpRecipe, clock: Clock) {
    this.#plane = plane;
    this.#recipe = recipe;
    this.#clock = clock;
  }

  /** Called before the first prompt: some agents connect late and would not see their peers. */
  async wait(signal: AbortSignal): Promise<void> {
    const { waitMs, settleMs, lazyAfterMs } = this.#recipe.plane;
    if (this.#awaited || this.#plane === null || waitMs === 0) return;
    this.#awaited = true;
    if (lazyAfterMs !== null && !(await this.#plane.reached(lazyAfterMs, signal).catch(() => false))) {
      this.#isLazy = true;
      return;
    }
    const listed = await this.#plane.listed(waitMs, signal).catch(() => false);
    if (listed && settleMs > 0) await this.#clock.sleep(settleMs, signal).catch(() => {});
  }

  /** Called after the first answer. */
  async check(emit: (event: DriverEvent) => void, signal: AbortSignal): Promise<void> {
    if (this.#checked || this.#plane === null) return;
    this.#checked = true;
    if (this.#isLazy && !(await this.#plane.reached(0, signal).catch(() => false))) return;
    if (await this.#plane.listed(0, signal).catch(() => true)) return;
    const text = `${this.#recipe.program.name} did not connect to Aegis, so this agent cannot see or call its peers.`;
    emit({ type: "notice", level: "error", text });
  }
}
