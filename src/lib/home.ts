/** The home folder of the user that a process acts for. */
import { homedir } from "node:os";
import type { Environment } from "./child-env.ts";

export function homeOf(env: Environment): string {
  return env.HOME ?? homedir();
}
