/** Environment variables that mark a child with its origin. All descendants of the child inherit them. */

/** The project whose daemon started the child. */
export const ownerVariable = "AEGIS_OWNER";

/** The child itself, so that ending one child does not affect the descendants of others. Random and never reused. */
export const childVariable = "AEGIS_CHILD";

/** Returns the environment without marks, for a program that should outlive the process that starts it. */
export function withoutMarks(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const { [ownerVariable]: _, [childVariable]: __, ...rest } = env;
  return rest;
}
