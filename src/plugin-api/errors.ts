/** Errors that workflows throw on purpose. Everything else that comes out of a workflow counts as a fault in it. */
import { expectedFailure } from "../contract/workflow-names.ts";

/** The expected way to fail: a check did not pass, an agent could not be started, nobody answered. */
export class WorkflowError extends Error {
  override readonly name: string = "WorkflowError";
  readonly [expectedFailure] = true;
  readonly details: unknown;

  constructor(message: string, options: { details?: unknown; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.details = options.details ?? null;
  }

  /** A step's error is read back from the record, where it has lost its class but not its mark. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && expectedFailure in value;
  }
}

/** A command did not succeed within its tries. `details` holds the last result. */
export class PredicateFailed extends WorkflowError {
  override readonly name: string = "PredicateFailed";

  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && expectedFailure in value && value.name === "PredicateFailed";
  }
}
