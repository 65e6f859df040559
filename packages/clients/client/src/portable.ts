/** The exports of `aegis/client` on every platform. `index.ts` and `browser.ts` each add their own `connect`. */
import { waitForMessage } from "./wait.ts";
import { waitForFiring, waitForRun, waitForTask } from "./wait-work.ts";

export { AegisError, type ErrorBody, type ErrorCode, isAegisError } from "@aegis/contract/errors.ts";
export type { Event, EventType, LiveDelta } from "@aegis/contract/event.ts";
export { type Id, isId, newId } from "@aegis/contract/ids.ts";
export type { RouteName } from "@aegis/contract/routes.ts";
export { type CallArguments, type CallInput, type Client, type ClientOptions, createClient } from "./client.ts";
export { type FollowedItem, type FollowOptions, followEvents } from "./events.ts";
export { applyDelta, reduce } from "./reduce.ts";
export {
  emptyState as initialState,
  type RunState,
  type ScheduleActivity,
  type SessionState,
  type State,
  type TaskState,
  type TurnItem,
  type TurnState,
  withSessions,
} from "./state.ts";
export type { MessageWaitOptions, Outcome } from "./wait.ts";
export type { WaitOptions } from "./wait-over.ts";

/** Each function follows the event stream and survives restarts of the daemon. */
export const wait = {
  message: waitForMessage,
  task: waitForTask,
  run: waitForRun,
  firing: waitForFiring,
} as const;
