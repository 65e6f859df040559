/** Exit codes of a daemon that could not start. The CLI command that started it derives its message from them. */
export const daemonExit = {
  failed: 1,
  /** Invalid arguments or configuration. */
  invalid: 2,
  /** Another daemon serves the project. */
  projectTaken: 4,
  /** The project contains state that is not known to belong to the user. */
  stateUnknown: 5,
} as const;
