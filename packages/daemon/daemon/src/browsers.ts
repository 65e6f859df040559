/**
 * `.aegis/state/web.json`: the browsers that may use the web app, and the port they know. The daemon signs the file
 * with the user's key, because a file that came with the folder could give access to its author.
 */
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import type { BrowserRecord, BrowserStore } from "@aegis/http/web/access.ts";
import { isErrno, writeAtomic } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { UserKey } from "@aegis/lib/user-key.ts";

type WebFile = { port: number; browsers: BrowserRecord[] };

export type BrowsersFile = {
  /** For `WebAccess`; `port` is the port that the daemon listens on. */
  store(port: () => Promise<number>): BrowserStore;
  /**
   * The port of the last daemon, or null if no browser has access. An open page can only reach the address that it was
   * loaded from, so the next daemon tries to take the same port.
   */
  lastPort(): number | null;
};

export function browsersFile(options: { root: string; stateDir: string; key: UserKey; log: Logger }): BrowsersFile {
  const { root, stateDir, key, log } = options;
  const path = join(stateDir, "web.json");
  const parts = (content: WebFile) => [realpathSync(root), JSON.stringify([content.port, content.browsers])];

  function read(): WebFile | null {
    try {
      const { proof, ...content } = JSON.parse(readFileSync(path, "utf8")) as WebFile & { proof: unknown };
      if (Array.isArray(content.browsers) && key.verifies(proof, "web", ...parts(content))) return content;
      log.warn("web.json was not written by an Aegis of this user and for this folder; it is ignored", { path });
    } catch (error) {
      if (!isErrno(error, "ENOENT", "ENOTDIR")) log.warn("web.json is unreadable", { path, error: errorText(error) });
    }
    return null;
  }

  return {
    store: (port) => ({
      read: () => read()?.browsers ?? [],
      async write(browsers) {
        const content: WebFile = { port: await port(), browsers: [...browsers] };
        const signed = { ...content, proof: key.sign("web", ...parts(content)) };
        await writeAtomic(path, `${JSON.stringify(signed, null, 2)}\n`, { mode: 0o600 });
      },
    }),
    lastPort() {
      const found = read();
      return found !== null && found.browsers.length > 0 ? found.port : null;
    },
  };
}
