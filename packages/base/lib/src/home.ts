/** The user that a process acts for: the home folder and the name. The content of the home folder is trusted. */
import { homedir, userInfo } from "node:os";
import { isAbsolute } from "node:path";
import type { Environment } from "./child-env.ts";

export function homeOf(env: Environment): string {
  return absolute(env.HOME ?? homedir());
}

/** For modules that are not given an environment. */
export function userHome(): string {
  return absolute(homedir());
}

/** An empty or relative HOME would make the project's own `.aegis` the user's. */
function absolute(home: string): string {
  const known = isAbsolute(home) ? home : userInfo().homedir;
  if (!isAbsolute(known)) throw new Error("your home folder is unknown: set HOME to an absolute path");
  return known;
}

/** The name of the user this process runs as. In a container, the user id may have no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
