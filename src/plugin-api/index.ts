/** What plugin authors import as "aegis". Whatever is named here is public API. */
export { z } from "zod";
export type {
  BashOptions,
  BashResult,
  Engine,
  GroupBrief,
  GroupWait,
  OnUncertain,
  PredicateOptions,
} from "./engine.ts";
export { PredicateFailed, WorkflowError } from "./errors.ts";
export { isWorkflow, type Workflow, type WorkflowBody, type WorkflowOptions, workflow } from "./workflow.ts";
