/** The workflows that ship with Aegis. */
import type { Workflow } from "@aegis/plugin-api/index.ts";
import { brainstormToSpec } from "./brainstorm-to-spec.ts";
import { executePlan } from "./execute-plan.ts";
import { reviewBranch } from "./review-branch.ts";
import { tddCycle } from "./tdd-cycle.ts";

/** Creates new objects on each call, so that `configure` affects only the caller's copies. */
export function catalog(): Workflow[] {
  return [brainstormToSpec(), executePlan(), reviewBranch(), tddCycle()];
}
