/**
 * Reads the agent files of a project and its user. A file that cannot be used is named and passed over; one that did not
 * change since it was last read is not read again.
 */
import type { Dirent, Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { AgentDiagnostic, AgentProfile } from "../../contract/agent.ts";
import { containedPath, isErrno } from "../../lib/files.ts";
import { errorText } from "../../lib/log.ts";
import { type ParsedAgent, parseAgentText } from "../../runtime/agents/parse.ts";
import { decodeText } from "../config/decode.ts";
import { diskFiles } from "../config/files.ts";
import type { AgentPlace } from "./places.ts";

export type LoadedAgents = {
  profiles: AgentProfile[];
  diagnostics: AgentDiagnostic[];
};

/** A folder with more is read up to here, by name. */
export const maxFilesPerFolder = 2_000;
const readAtOnce = 32;

type Known = { stamp: string; parsed: ParsedAgent };

export class AgentFiles {
  #known = new Map<string, Known>();

  /** Never throws for what folders and files hold. Two calls at once are safe; the later one's files are remembered. */
  async load(places: readonly AgentPlace[]): Promise<LoadedAgents> {
    const result: LoadedAgents = { profiles: [], diagnostics: [] };
    const known = new Map<string, Known>();
    for (const place of places) {
      const names = await this.#names(place, result.diagnostics);
      for (let start = 0; start < names.length; start += readAtOnce) {
        const some = names.slice(start, start + readAtOnce);
        const all = await Promise.all(some.map((name) => this.#read(place, name, known)));
        for (const { profile, diagnostics } of all) {
          if (profile !== null) result.profiles.push(profile);
          result.diagnostics.push(...diagnostics);
        }
      }
    }
    this.#known = known;
    return result;
  }

  async #names({ folder, within }: AgentPlace, diagnostics: AgentDiagnostic[]): Promise<string[]> {
    let entries: Dirent[];
    try {
      entries = await readdir(folder, { withFileTypes: true });
    } catch (error) {
      if (!isErrno(error, "ENOENT", "ENOTDIR"))
        diagnostics.push(fault(folder, "warning", `cannot be read: ${errorText(error)}`));
      return [];
    }
    const leadsOut = async (path: string) => within !== null && (await containedPath(within, path)) === null;
    // What a project brings must not make a file of the user's own a prompt.
    const outside = "is a link out of the project; it is not read";
    if (await leadsOut(folder)) {
      diagnostics.push(fault(folder, "error", outside));
      return [];
    }
    const pages = entries
      .filter((entry) => entry.name.endsWith(".md") && !entry.name.startsWith(".") && !entry.isDirectory())
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const names: string[] = [];
    for (const entry of pages) {
      const path = join(folder, entry.name);
      if (!entry.isSymbolicLink() || !(await leadsOut(path))) names.push(entry.name);
      else diagnostics.push(fault(path, "error", outside));
    }
    if (names.length > maxFilesPerFolder)
      diagnostics.push(
        fault(
          folder,
          "error",
          `expected at most ${maxFilesPerFolder} agents, found ${names.length}; the rest is not read`,
        ),
      );
    return names.slice(0, maxFilesPerFolder);
  }

  async #read(place: AgentPlace, name: string, known: Map<string, Known>): Promise<ParsedAgent> {
    const path = join(place.folder, name);
    try {
      const stamp = stampOf(await stat(path));
      const before = this.#known.get(path);
      const parsed = before?.stamp === stamp ? before.parsed : await readAgentFile(path, place.source);
      known.set(path, { stamp, parsed });
      return parsed;
    } catch (error) {
      // Gone between listing and reading: then it is not there.
      if (isErrno(error, "ENOENT")) return { profile: null, diagnostics: [] };
      return { profile: null, diagnostics: [fault(path, "error", `cannot be read: ${errorText(error)}`)] };
    }
  }
}

/** Throws when the file cannot be read; what is wrong with its content is in the answer. */
export async function readAgentFile(path: string, source: AgentPlace["source"]): Promise<ParsedAgent> {
  const decoded = decodeText(await diskFiles.read(path));
  if ("text" in decoded)
    return parseAgentText(decoded.text, { source, plugin: null, file: path, fallbackName: nameOf(path) });
  return { profile: null, diagnostics: [{ ...fault(path, "error", decoded.message), line: decoded.at.line }] };
}

function nameOf(path: string): string {
  return basename(path, ".md");
}

function stampOf({ mtimeMs, ctimeMs, size, ino }: Stats): string {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
}

function fault(file: string, level: AgentDiagnostic["level"], message: string): AgentDiagnostic {
  return { level, agent: null, plugin: null, file, line: null, message };
}
