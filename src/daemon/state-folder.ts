/** The folder in which Aegis keeps what it knows about a project. */
import { access, chmod, constants, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "../contract/errors.ts";
import { stateDir } from "../lib/daemon-file.ts";
import { makePrivateDir } from "../lib/files.ts";
import { errorText } from "../lib/log.ts";

/** Makes it when it is not there. Throws `unavailable` when it cannot be used. */
export async function stateFolder(root: string): Promise<string> {
  const path = stateDir(root);
  try {
    await makePrivateDir(path);
    await chmod(path, 0o700);
    await access(path, constants.W_OK);
    // It holds a token and transcripts; a project may become a git repository at any time.
    await writeFile(join(path, ".gitignore"), "*\n");
    return path;
  } catch (error) {
    throw new AegisError("unavailable", `cannot write ${path}: ${errorText(error)}`, {
      hint: "Aegis keeps its state there; make the folder writable, or start it as the user who owns it",
      cause: error,
    });
  }
}
