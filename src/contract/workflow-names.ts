/** What a workflow's name is and how its expected failures are marked. Apart from `run.ts`, because plugins load it. */

export const workflowNamePattern = /^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/;
export const workflowNameMaxLength = 64;

/** Marks an error that tells of a workflow's matter, not of a fault in it, whatever its class. */
export const expectedFailure: unique symbol = Symbol.for("aegis.expected-failure");
