/** An action of a person: its keys, where they apply, and what it does. Hints, help and palette come from these. */
import type { App } from "../app-api.ts";

/**
 * `empty` counts while the editor is empty, and so does `needs` in a session that asks. The keys of a screen win over `list`, and those over `global`. An open
 * dialog takes all keys.
 */
export type Layer = "global" | "session" | "empty" | "list" | "dashboard" | "team" | "needs" | "agents";

export type Action = {
  readonly id: string;
  readonly title: string;
  readonly layer: Layer;
  /** Default keys, as pi-tui names them: `ctrl+d`, `alt+up`, `x`. */
  readonly keys: readonly string[];
  /** Shown in the last row of the screen, lowest number first; absent if only the help shows it. */
  readonly hint?: number;
  /** The palette lists it. */
  readonly palette?: boolean;
  /** Whether it applies now; default: always. */
  when?(app: App): boolean;
  run(app: App): void;
};
