/** Reads the secret of a channel: from a variable of the daemon's environment or from a private file. */
import { readFile, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { homeOf } from "@aegis/lib/home.ts";

export type SecretPlace = { env?: string | undefined; file?: string | undefined };

const longest = 4096;

/** Throws `AegisError` with the way to fix it. The value is trimmed. */
export async function readSecret(
  { env: variable, file }: SecretPlace,
  options: { root: string; env: Environment; what: string },
): Promise<string> {
  const { root, env, what } = options;
  if (variable !== undefined) {
    const value = env[variable]?.trim() ?? "";
    if (value !== "") return value;
    throw new AegisError("invalid", `the variable ${variable} for the ${what} is not set in the daemon's environment`, {
      hint: `export ${variable}, then restart the daemon: aegis down && aegis up`,
    });
  }
  const path = pathOf(file ?? "", root, env);
  try {
    const { mode, size } = await stat(path);
    if ((mode & 0o077) !== 0)
      throw new AegisError("invalid", `the file of the ${what} can be read by other users: ${path}`, {
        hint: `chmod 600 ${path}`,
      });
    if (size > longest) throw new AegisError("invalid", `the file of the ${what} is too long: ${path}`);
    const value = (await readFile(path, "utf8")).trim();
    if (value !== "") return value;
    throw new AegisError("invalid", `the file of the ${what} is empty: ${path}`);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    throw new AegisError("invalid", `the file of the ${what} does not exist: ${path}`, {
      hint: "create it with mode 600",
    });
  }
}

function pathOf(file: string, root: string, env: Environment): string {
  return file.startsWith("~/") ? join(homeOf(env), file.slice(2)) : resolve(root, file);
}
