/** The token of API clients. Each start creates a new one, unless the settings name a file that stores it. */
import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { isErrno, makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";

const shortestToken = 32;

/** Creates the file if it is missing. Throws `invalid` for a file that others can read or for a weak token. */
export async function readToken(root: string, file: string | undefined): Promise<string> {
  const fresh = randomBytes(32).toString("base64url");
  if (file === undefined) return fresh;
  const path = resolve(root, file);
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0) {
      throw new AegisError("invalid", `server.token_file ${path} can be read by others`, { hint: `chmod 600 ${path}` });
    }
    const token = (await readFile(path, "utf8")).trim();
    if (token.length < shortestToken || /\s/.test(token)) {
      throw new AegisError(
        "invalid",
        `server.token_file ${path} must hold one word of at least ${shortestToken} characters`,
      );
    }
    return token;
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    await makePrivateDir(dirname(path));
    await writeAtomic(path, `${fresh}\n`, { mode: 0o600 });
    return fresh;
  }
}
