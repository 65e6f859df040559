/** Completes `/command` at the start of a message and `@file` before the cursor. */

import type { CommandView } from "@aegis/contract/command.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { useEffect, useMemo, useState } from "preact/hooks";
import { client } from "../app/client.ts";
import { oneLine, visible } from "../model/format.ts";

export type Suggestion = { key: string; title: string; note: string; text: string; cursor: number };

export type Suggestions = {
  label: string;
  list: readonly Suggestion[];
  /** The one that Enter and Tab choose; -1 for none. */
  active: number;
  setActive: (index: number) => void;
  dismiss: () => void;
};

const mostShown = 8;
const pauseMs = 80;

/** What fits the text before the cursor. */
export function useSuggestions(session: SessionId, text: string, cursor: number): Suggestions {
  const before = text.slice(0, cursor);
  const typed = /(?:^|\s)@([^\s@]*)$/.exec(before)?.[1] ?? null;
  const isCommand = cursor === text.length && /^\/[\w:-]*$/.test(text);
  const commands = useCommands(isCommand);
  const files = useFiles(session, typed);
  const [dismissed, setDismissed] = useState<string | null>(null);
  const [moved, setMoved] = useState<{ at: string; index: number } | null>(null);
  const list = useMemo((): Suggestion[] => {
    if (before === dismissed) return [];
    if (isCommand)
      return commands
        .filter(({ name }) => `/${name}`.startsWith(text))
        .slice(0, mostShown)
        .map(({ name, argument_hint, description }) => {
          const whole = `/${name} `;
          const note = `${argument_hint ?? ""} ${oneLine(description, 80)}`.trim();
          return { key: name, title: `/${name}`, note, text: whole, cursor: whole.length };
        });
    if (typed === null || files.q === null) return [];
    return files.found.slice(0, mostShown).map((path) => {
      const start = `${before.slice(0, before.length - typed.length)}${path} `;
      const at = path.lastIndexOf("/") + 1;
      const [name, folder] = [visible(path.slice(at)), visible(path.slice(0, at))];
      return { key: path, title: name, note: folder, text: start + text.slice(cursor), cursor: start.length };
    });
  }, [text, cursor, commands, files, dismissed]);
  // Enter sends a command that is typed whole, but a file is chosen.
  const preset = isCommand ? -1 : 0;
  const active = moved !== null && moved.at === before ? Math.min(moved.index, list.length - 1) : preset;
  return {
    label: isCommand ? "Commands" : "Files",
    list,
    active,
    setActive: (index) => setMoved({ at: before, index: list.length === 0 ? 0 : (index + list.length) % list.length }),
    dismiss: () => setDismissed(before),
  };
}

export const listId = "completion";
export const optionId = (index: number) => `completion-${index}`;

export function Completion({ suggestions, choose }: { suggestions: Suggestions; choose: (one: Suggestion) => void }) {
  const { list, active, label } = suggestions;
  if (list.length === 0) return null;
  return (
    <div class="completion" id={listId} role="listbox" aria-label={label}>
      {list.map((one, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the text field, which keeps the focus
        <div
          key={one.key}
          id={optionId(index)}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => choose(one)}
        >
          <b>{one.title}</b> <span class="dim cut">{one.note}</span>
        </div>
      ))}
    </div>
  );
}

function useCommands(wanted: boolean): readonly CommandView[] {
  const [commands, setCommands] = useState<readonly CommandView[] | null>(null);
  useEffect(() => {
    if (!wanted || commands !== null) return;
    client.call("listCommands").then(
      (answer) => setCommands(answer.commands.filter((one) => one.status === "ready")),
      () => setCommands([]),
    );
  }, [wanted]);
  return commands ?? [];
}

/** Asks the daemon shortly after the last key. The earlier answer stays until the next one is here. */
function useFiles(session: SessionId, q: string | null): { q: string | null; found: readonly string[] } {
  const [files, setFiles] = useState<{ q: string | null; found: readonly string[] }>({ q: null, found: [] });
  useEffect(() => {
    if (q === null) return setFiles({ q: null, found: [] });
    let gone = false;
    const timer = setTimeout(() => {
      client.call("findFiles", { path: { session }, query: { q, limit: mostShown } }).then(
        (answer) => gone || setFiles({ q, found: answer.files }),
        () => gone || setFiles({ q, found: [] }),
      );
    }, pauseMs);
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [session, q]);
  return files;
}
