/** The project for commands that run without a daemon. */
import { findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { homeOf } from "@aegis/lib/home.ts";
import type { CliContext } from "../../terminal/context.ts";

export type Project = Awaited<ReturnType<typeof projectOf>>;

/** The project folder, the user's home, and the harness names that agents may use. */
export async function projectOf(cx: CliContext) {
  const { harnessNames } = await import("@aegis/project/checkup.ts");
  const root = findProjectRoot(cx.cwd);
  return { root, env: cx.env, home: homeOf(cx.env), harnesses: harnessNames(root, cx.env) };
}
