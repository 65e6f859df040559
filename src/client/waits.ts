/** `wait` of `aegis/client`. Each function follows the event stream and survives restarts of the daemon. */
import { waitForMessage } from "./wait.ts";
import { waitForFiring } from "./wait-firing.ts";
import { waitForRun } from "./wait-run.ts";
import { waitForTask } from "./wait-task.ts";

export const wait = {
  message: waitForMessage,
  task: waitForTask,
  run: waitForRun,
  firing: waitForFiring,
} as const;
