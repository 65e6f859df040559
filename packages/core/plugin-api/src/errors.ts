/** Errors that workflows throw on purpose. Any other error counts as a defect in the workflow. */
import { expectedFailure } from "@aegis/contract/workflow-names.ts";

/**
 * The expected way for a workflow to fail: a check did not pass, an agent could not be started, a person did not answer.
 * Any other error that a workflow throws counts as a defect in the workflow.
 *
 * @example
 * ```ts
 * import { WorkflowError, workflow } from "aegis";
 *
 * export const release = workflow("release", async (context) => {
 *   const { stdout } = await context.bash("git status --porcelain");
 *   if (stdout !== "") throw new WorkflowError("the working copy has changes", { details: stdout });
 * });
 * ```
 */
export class WorkflowError extends Error {
  override readonly name: string = "WorkflowError";
  readonly [expectedFailure] = true;
  readonly details: unknown;

  constructor(message: string, options: { details?: unknown; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.details = options.details ?? null;
  }

  /** The error of a replayed step is deserialized: it has lost its class but not its mark. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && expectedFailure in value;
  }
}

/**
 * The error of `context.bashPredicate` when a command did not succeed within its retries. `details` holds the last result.
 *
 * @example
 * ```ts
 * import { PredicateFailed, workflow } from "aegis";
 *
 * export const build = workflow("build", async (context) => {
 *   try {
 *     await context.bashPredicate("npm test", { retryWith: "The tests fail: {stdout}" });
 *   } catch (error) {
 *     if (error instanceof PredicateFailed) return "needs a person";
 *     throw error;
 *   }
 * });
 * ```
 */
export class PredicateFailed extends WorkflowError {
  override readonly name: string = "PredicateFailed";

  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && expectedFailure in value && value.name === "PredicateFailed";
  }
}
