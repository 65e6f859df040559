/** The context of a step in its turn. */
import type { Clock } from "../../lib/clock.ts";
import type { ConversationSpec } from "../driver.ts";
import type { Gates } from "./gates.ts";

export type StepContext = {
  /** Identifies this step in the turn's events. */
  id: string;
  /** The idempotency key of its side effects, stable if the turn is sent again. */
  key: string;
  /** The values of placeholders. A step adds its saved results. */
  values: Record<string, string>;
  spec: ConversationSpec;
  clock: Clock;
  gates: Gates;
  signal: AbortSignal;
};
