/** From keys to actions. A person's own keys replace the defaults; conflicts are refused with both names. */

import { didYouMean } from "@aegis/lib/nearest.ts";
import { type KeyId, matchesKey } from "@earendil-works/pi-tui/dist/keys.js";
import type { Action, Layer } from "./actions/action.ts";
import type { App } from "./app-api.ts";
import type { ScreenName } from "./ui.ts";

export type UserKeys = Readonly<Record<string, string | readonly string[]>>;

/** Keys that a terminal cannot tell from others, or that leave no way out. */
const reserved: Readonly<Record<string, string>> = {
  "ctrl+i": "it is the same as Tab",
  "ctrl+m": "it is the same as Enter",
  "ctrl+h": "it is the same as Backspace",
  "ctrl+[": "it is the same as Esc",
};

export class Keymap {
  readonly actions: readonly Action[];
  readonly #keys: ReadonlyMap<string, readonly string[]>;

  /** Throws a `RangeError` that names the entry if the person's keys are not valid. */
  constructor(actions: readonly Action[], user: UserKeys = {}) {
    this.actions = actions;
    const keys = new Map(actions.map(({ id, keys: own }) => [id, own]));
    for (const [id, wanted] of Object.entries(user)) {
      if (!keys.has(id)) throw new RangeError(`there is no action ${id}${didYouMean(id, [...keys.keys()])}`);
      const list = typeof wanted === "string" ? [wanted] : wanted;
      for (const key of list) {
        const problem = reserved[key.toLowerCase()];
        if (problem !== undefined) throw new RangeError(`${id}: ${key} cannot be used, because ${problem}`);
      }
      keys.set(id, list);
    }
    this.#keys = keys;
    this.#refuseConflicts(Object.keys(user));
  }

  /** Only conflicts that the person caused: some defaults share a key because they apply to different rows. */
  #refuseConflicts(changed: readonly string[]): void {
    for (const id of changed) {
      const action = this.actions.find((one) => one.id === id);
      for (const key of this.keysOf(id)) {
        const other = this.actions.find(
          (one) => one.id !== id && one.layer === action?.layer && this.keysOf(one.id).includes(key),
        );
        if (other !== undefined) throw new RangeError(`${key} is the key of both ${id} and ${other.id}`);
      }
    }
  }

  keysOf(id: string): readonly string[] {
    return this.#keys.get(id) ?? [];
  }

  /** The actions that apply now, nearest layer first. */
  active(app: App): Action[] {
    const layers = layersOf(app.ui.screen, app.editorText() === "");
    return layers.flatMap((layer) =>
      this.actions.filter((action) => action.layer === layer && (action.when?.(app) ?? true)),
    );
  }

  resolve(data: string, app: App): Action | null {
    return this.active(app).find(({ id }) => this.keysOf(id).some((key) => isKey(data, key))) ?? null;
  }
}

function layersOf(screen: ScreenName, isEditorEmpty: boolean): readonly Layer[] {
  // The keys of an ask apply to the one that the conversation shows.
  if (screen === "session") return isEditorEmpty ? ["needs", "session", "empty", "global"] : ["session", "global"];
  return [screen, "list", "global"];
}

export function isKey(data: string, key: string): boolean {
  // Without a keyboard protocol, Ctrl+J is a line feed, which pi-tui takes for Enter.
  if (data === "\n") return key === "ctrl+j";
  // Capital letters and signs are their own keys; pi-tui would need the shift modifier for them.
  if (key.length === 1 && !/[a-z0-9]/.test(key))
    return data === key || matchesKey(data, `shift+${key.toLowerCase()}` as KeyId);
  return matchesKey(data, key as KeyId);
}

const names: Readonly<Record<string, string>> = {
  escape: "Esc",
  enter: "Enter",
  pageUp: "PgUp",
  pageDown: "PgDn",
  up: "↑",
  down: "↓",
  tab: "Tab",
  home: "Home",
  end: "End",
  ctrl: "Ctrl",
  alt: "Alt",
  shift: "Shift",
};

/** `Ctrl+D`, `Alt+↑`, `x`. */
export function keyName(key: string): string {
  if (key === "+") return key;
  const parts = key.split("+");
  const last = parts.pop() ?? "";
  const name = names[last] ?? (/^f\d+$/.test(last) || parts.length > 0 ? last.toUpperCase() : last);
  return [...parts.map((part) => names[part] ?? part), name].join("+");
}
