import { userInfo } from "node:os";

/** The name of the user this process runs as. In a container, the user id may have no name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
