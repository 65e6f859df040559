/** The workflows that come with Aegis. */
import type { Workflow } from "../plugin-api/index.ts";
import { brainstormToSpec } from "./brainstorm-to-spec.ts";
import { executePlan } from "./execute-plan.ts";
import { reviewBranch } from "./review-branch.ts";
import { tddCycle } from "./tdd-cycle.ts";

/** Made anew each time: what one configures is not configured for another. */
export function catalog(): Workflow[] {
  return [brainstormToSpec(), executePlan(), reviewBranch(), tddCycle()];
}
