/** What a daemon that could not start exits with: the command that started it tells people from this. */
export const daemonExit = {
  failed: 1,
  /** Wrong arguments or wrong configuration. */
  invalid: 2,
  /** Another daemon has the project. */
  projectTaken: 4,
} as const;
