/** What a step knows of the turn it is part of. */
import type { Clock } from "../../lib/clock.ts";
import type { ConversationSpec } from "../driver.ts";
import type { Gates } from "./gates.ts";

export type StepContext = {
  /** Names this step in the turn's events. */
  id: string;
  /** Names its effects, also when the turn is sent again. */
  key: string;
  /** What places stand for. A step adds what it saves. */
  values: Record<string, string>;
  spec: ConversationSpec;
  clock: Clock;
  gates: Gates;
  signal: AbortSignal;
};
