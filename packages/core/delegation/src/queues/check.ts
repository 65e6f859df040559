/** Finds the check of a task: its own, or the one of its queue. */
import { checkOf } from "@aegis/contract/check.ts";
import type { Task } from "@aegis/contract/task.ts";
import type { StoreReads } from "@aegis/store/store.ts";
import type { CheckConsent } from "@aegis/worktrees/checks/consent.ts";
import type { RequiredCheck } from "../work/verify.ts";
import type { QueueDefinitions } from "./definitions.ts";

export type CheckFinder = (task: Task) => Promise<RequiredCheck | null>;

/** Only a person may replace the check of a queue. */
export async function findCheck(
  from: StoreReads,
  definitions: QueueDefinitions,
  task: Pick<Task, "id" | "queue">,
  consentFor: CheckConsent,
): Promise<RequiredCheck | null> {
  const own = await from.receipts.check(task.id);
  const queue = await definitions.find(from, task.queue);
  const given = queue?.settings.check;
  if (own !== null && (own.by === "person" || given === undefined)) {
    const { by, ...check } = own;
    return { check, consent: () => consentFor(by, check.command) };
  }
  if (queue === null || given === undefined) return null;
  const check = checkOf(given);
  const origin = queue.source === "config" ? { queue: queue.name } : ("person" as const);
  return { check, consent: () => consentFor(origin, check.command) };
}
