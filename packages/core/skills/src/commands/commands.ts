/**
 * All slash commands of a project. Pages are read on demand, so edits take effect immediately. A name resolves to the
 * chat first, then to the project, the user and the plugins in their order.
 */

import type { CommandDiagnostic, CommandOutcome, CommandView } from "@aegis/contract/command.ts";
import { chatCommandNames } from "@aegis/contract/command-names.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { CommandCaller, CommandTable } from "./command-table.ts";
import { type CommandFile, findCommandFiles } from "./files.ts";
import { fillArguments } from "./fill.ts";
import { parseCommandPage } from "./page.ts";

export type CommandFolder = {
  source: "project" | "user";
  /** Files outside it are not read. */
  root: string;
  /** Relative to the root. */
  path: string;
};

export type CommandsOptions = {
  table: CommandTable;
  /** In order of precedence. */
  folders: readonly CommandFolder[];
  /** The reason why a page of the project must not be used, or null. It judges the same bytes that are used. */
  refusal: (file: CommandFile) => Promise<string | null>;
};

type Candidate = { view: CommandView; run: Run };
type Run = (args: string, caller: CommandCaller, signal: AbortSignal) => Promise<unknown>;

export class Commands {
  readonly #options: CommandsOptions;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  async list(): Promise<{ commands: CommandView[]; diagnostics: CommandDiagnostic[] }> {
    const { candidates, diagnostics } = await this.#judged();
    return { commands: candidates.map(({ view }) => view), diagnostics };
  }

  /**
   * Runs a command by name or `plugin:name`. Throws `not_found` with the nearest name, and `forbidden` for an untrusted
   * one.
   */
  async run(name: string, args: string, caller: CommandCaller, signal: AbortSignal): Promise<CommandOutcome> {
    const { view, run } = await this.#find(name.toLowerCase());
    return { command: view.name, ...outcomeOf(await run(args, caller, signal)) };
  }

  async #find(name: string): Promise<Candidate> {
    const { candidates } = await this.#judged();
    const ready = candidates.find(({ view }) => view.status === "ready" && view.name === name);
    const exact = candidates.find(({ view }) => view.plugin !== null && `${view.plugin}:${view.name}` === name);
    const found = ready ?? exact;
    if (found !== undefined) return found;
    const kept = candidates.find(({ view }) => view.name === name);
    if (kept?.view.status === "untrusted")
      throw new AegisError("forbidden", `/${name} is not run: ${kept.view.reason}`, {
        hint: "see what it is, and agree to it, with: aegis trust",
      });
    if (kept !== undefined) throw new AegisError("not_found", `/${name} is not run: ${kept.view.reason}`);
    const names = candidates.filter(({ view }) => view.status === "ready").map(({ view }) => view.name);
    throw new AegisError("not_found", `no command "/${name}"${didYouMean(name, names)}`);
  }

  /** Returns all candidates, each with whether it is the one that its name resolves to. */
  async #judged(): Promise<{ candidates: Candidate[]; diagnostics: CommandDiagnostic[] }> {
    const { candidates, diagnostics } = await this.#pages();
    for (const command of this.#options.table.list()) {
      const { name, description, argumentHint: argument_hint, plugin, file } = command;
      const view = { name, description, argument_hint, source: "plugin", plugin, file, ...ready } as const;
      candidates.push({ view, run: (args, caller, signal) => command.run(args, caller, signal) });
    }
    const owners = new Map<string, string>(chatCommandNames.map((name) => [name, "the chat itself"]));
    return {
      diagnostics,
      candidates: candidates.map(({ view, run }) => {
        const owner = owners.get(view.name);
        if (view.status !== "ready") return { view, run };
        if (owner === undefined) {
          owners.set(view.name, ownerOf(view));
          return { view, run };
        }
        const also = view.plugin === null ? "" : `; this one is /${view.plugin}:${view.name}`;
        return { view: { ...view, status: "shadowed", reason: `${owner} has a /${view.name}${also}` }, run };
      }),
    };
  }

  async #pages(): Promise<{ candidates: Candidate[]; diagnostics: CommandDiagnostic[] }> {
    const candidates: Candidate[] = [];
    const diagnostics: CommandDiagnostic[] = [];
    for (const { source, root, path } of this.#options.folders) {
      const found = await findCommandFiles(root, path);
      diagnostics.push(...found.diagnostics);
      for (const file of found.files) {
        const { page, diagnostics: notes } = parseCommandPage(file.bytes, file.path);
        diagnostics.push(...notes);
        if (page === null) continue;
        const reason = source === "project" ? await this.#options.refusal(file) : null;
        const { description, argumentHint: argument_hint, body } = page;
        const about = { name: file.name, description, argument_hint, source, plugin: null, file: file.path };
        candidates.push({
          view: { ...about, ...(reason === null ? ready : { status: "untrusted", reason }) },
          run: async (args) => ({ prompt: fillArguments(body, args) }),
        });
      }
    }
    return { candidates, diagnostics };
  }
}

const ready = { status: "ready", reason: null } as const;

function ownerOf({ source, plugin, file }: CommandView): string {
  if (source === "plugin") return `the plugin "${plugin}"`;
  return source === "project" ? `the project (${file})` : `your own ~/${file}`;
}

/**
 * A plugin may return anything: text is displayed, `{text, prompt}` is used as declared, other values are displayed as
 * JSON.
 */
function outcomeOf(value: unknown): { text: string | null; prompt: string | null } {
  if (value === null || value === undefined) return { text: null, prompt: null };
  if (typeof value === "string") return { text: value, prompt: null };
  if (typeof value === "object" && !Array.isArray(value)) {
    const { prompt, text } = value as Record<string, unknown>;
    const isMeant = typeof prompt === "string" || (typeof text === "string" && Object.keys(value).length === 1);
    if (isMeant)
      return { text: typeof text === "string" ? text : null, prompt: typeof prompt === "string" ? prompt : null };
  }
  return { text: JSON.stringify(value, null, 2), prompt: null };
}
