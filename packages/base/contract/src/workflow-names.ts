/** Workflow names, and the mark of expected failures. Separate from `run.ts`, because plugins load this file. */

export const workflowNamePattern = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;
export const workflowNameMaxLength = 64;

/** Marks an error as an expected failure of a workflow instead of a defect in it, regardless of its class. */
export const expectedFailure: unique symbol = Symbol.for("aegis.expected-failure");
