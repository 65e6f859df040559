/** Completes `/command` at the start of a message and `@file` anywhere in it. */

import { filesBelow } from "@aegis/lib/files-below.ts";
import { plainLine } from "@aegis/lib/plain-text.ts";
import type { AutocompleteProvider } from "@earendil-works/pi-tui/dist/autocomplete.js";
import { fuzzyFilter } from "@earendil-works/pi-tui/dist/fuzzy.js";

export type CommandItem = { readonly name: string; readonly about: string };

const mostShown = 20;
const keptMs = 5_000;

export function createCompletion(options: {
  root: string;
  commands(): Promise<readonly CommandItem[]>;
  now(): number;
}): AutocompleteProvider {
  let files: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  const known = async () => {
    if (options.now() - readAt > keptMs) {
      readAt = options.now();
      files = await filesBelow(options.root);
    }
    return files;
  };
  return {
    triggerCharacters: ["@", "/"],
    async getSuggestions(lines, cursorLine, cursorCol, { signal }) {
      const before = (lines[cursorLine] ?? "").slice(0, cursorCol);
      const command = cursorLine === 0 ? /^\/(\S*)$/.exec(before) : null;
      if (command !== null) {
        const found = fuzzyFilter([...(await options.commands())], command[1] ?? "", ({ name }) => name);
        const items = found.slice(0, mostShown).map(({ name, about }) => ({
          value: `/${name}`,
          label: `/${name}`,
          description: plainLine(about),
        }));
        return signal.aborted || items.length === 0 ? null : { items, prefix: before };
      }
      const file = /(?:^|\s)(@\S*)$/.exec(before)?.[1];
      if (file === undefined) return null;
      const found = fuzzyFilter([...(await known())], file.slice(1), (path) => path);
      const items = found.slice(0, mostShown).map((path) => ({ value: `@${path}`, label: plainLine(path) }));
      return signal.aborted || items.length === 0 ? null : { items, prefix: file };
    },
    applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
      const line = lines[cursorLine] ?? "";
      const before = `${line.slice(0, cursorCol - prefix.length)}${item.value} `;
      const changed = lines.with(cursorLine, before + line.slice(cursorCol));
      return { lines: changed, cursorLine, cursorCol: before.length };
    },
  };
}
