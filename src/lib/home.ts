/** The user that a process acts for: the home folder and the name. */
import { homedir, userInfo } from "node:os";
import type { Environment } from "./child-env.ts";

export function homeOf(env: Environment): string {
  return env.HOME ?? homedir();
}

/** The name of the user this process runs as. In a container, the user id may have no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
