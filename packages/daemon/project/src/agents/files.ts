/**
 * Reads the agent files of the project and the user. An unusable file is reported and skipped. Unchanged files are not
 * read again.
 */
import type { Dirent, Stats } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { type ParsedAgent, parseAgentText } from "@aegis/agents/parse.ts";
import type { AgentDiagnostic, AgentProfile } from "@aegis/contract/agent.ts";
import { containedPath, isErrno } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { decodeText } from "../config/decode.ts";
import { diskFiles } from "../config/files.ts";
import type { AgentPlace } from "./places.ts";

export type LoadedAgents = {
  profiles: AgentProfile[];
  diagnostics: AgentDiagnostic[];
  /** The folders that were read below the given places. */
  folders: string[];
};

/** In a larger folder, only the first files by name are read. */
export const maxFilesPerFolder = 2_000;
const maxDepth = 6;
const readAtOnce = 32;

type Known = { stamp: string; parsed: ParsedAgent };

export class AgentFiles {
  #known = new Map<string, Known>();

  /**
   * Never throws because of the content of folders or files. Concurrent calls are safe; the cache keeps the later
   * result.
   */
  async load(places: readonly AgentPlace[]): Promise<LoadedAgents> {
    const result: LoadedAgents = { profiles: [], diagnostics: [], folders: [] };
    const known = new Map<string, Known>();
    for (const place of places) {
      const names = await this.#names(place, result);
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

  /** Returns paths relative to the place's folder. */
  async #names(place: AgentPlace, result: LoadedAgents): Promise<string[]> {
    const names: string[] = [];
    await this.#collect(place, "", names, result);
    if (names.length > maxFilesPerFolder) {
      const message = `expected at most ${maxFilesPerFolder} agents, found ${names.length}; the rest is not read`;
      result.diagnostics.push(fault(place.folder, "error", message));
    }
    return names.slice(0, maxFilesPerFolder);
  }

  async #collect(place: AgentPlace, below: string, names: string[], result: LoadedAgents): Promise<void> {
    const { diagnostics } = result;
    const folder = join(place.folder, below);
    let entries: Dirent[];
    try {
      entries = await readdir(folder, { withFileTypes: true });
    } catch (error) {
      if (!isErrno(error, "ENOENT", "ENOTDIR"))
        diagnostics.push(fault(folder, "warning", `cannot be read: ${errorText(error)}`));
      return;
    }
    const { within } = place;
    const leadsOut = async (path: string) => within !== null && (await containedPath(within, path)) === null;
    // A link in a project must not turn one of the user's private files into a prompt.
    const outside = "is a link out of the project; it is not read";
    const gone = "is a link to a file that does not exist";
    if (below === "" && (await leadsOut(folder))) return void diagnostics.push(fault(folder, "error", outside));
    if (below !== "") result.folders.push(folder);
    const depth = below === "" ? 0 : below.split(sep).length;
    const seen = entries.filter((entry) => !entry.name.startsWith(".")).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of seen) {
      const path = join(folder, entry.name);
      const name = join(below, entry.name);
      if (entry.isDirectory()) {
        if (entry.name === "node_modules") continue;
        if (depth < maxDepth) await this.#collect(place, name, names, result);
        else diagnostics.push(fault(path, "warning", `is not read: it is more than ${maxDepth} folders deep`));
      } else if (/\.md$/i.test(entry.name)) {
        if (!entry.isSymbolicLink() || !(await leadsOut(path))) names.push(name);
        else diagnostics.push(fault(path, "error", (await isGone(path)) ? gone : outside));
      } else if (entry.isSymbolicLink() && !entry.name.includes(".")) {
        diagnostics.push(fault(path, "warning", "is a link, but not to an agent file; it is not followed"));
      }
    }
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
      // The file was deleted between listing and reading.
      if (isErrno(error, "ENOENT")) return { profile: null, diagnostics: [] };
      return { profile: null, diagnostics: [fault(path, "error", `cannot be read: ${errorText(error)}`)] };
    }
  }
}

/** Throws if the file cannot be read. Problems in its content are in the result. */
async function readAgentFile(path: string, source: AgentPlace["source"]): Promise<ParsedAgent> {
  const bytes = await diskFiles.read(path);
  const decoded = decodeText(bytes);
  const origin = { source, plugin: null, file: path, fallbackName: nameOf(path) };
  if ("text" in decoded) return parseAgentText(decoded.text, origin);
  // Invalid UTF-8 only loses characters. A NUL byte means that the file is not text.
  if (bytes.includes(0))
    return { profile: null, diagnostics: [{ ...fault(path, "error", decoded.message), line: decoded.at.line }] };
  const { profile, diagnostics } = parseAgentText(new TextDecoder().decode(bytes), origin);
  const level = profile === null ? "error" : "warning";
  const note = { ...fault(path, level, decoded.message), line: decoded.at.line };
  return { profile, diagnostics: profile === null ? [note] : [note, ...diagnostics] };
}

function isGone(path: string): Promise<boolean> {
  return stat(path).then(
    () => false,
    (error: unknown) => isErrno(error, "ENOENT"),
  );
}

function nameOf(path: string): string {
  return basename(path).replace(/\.md$/i, "");
}

function stampOf({ mtimeMs, ctimeMs, size, ino }: Stats): string {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
}

function fault(file: string, level: AgentDiagnostic["level"], message: string): AgentDiagnostic {
  return { level, agent: null, plugin: null, file, line: null, message };
}
