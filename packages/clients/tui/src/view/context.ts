/** What a view reads. A view is a pure function of it. */
import type { Model } from "../model.ts";
import type { Theme } from "../theme.ts";
import type { Ui } from "../ui.ts";

export type ViewContext = {
  readonly model: Model;
  readonly ui: Ui;
  readonly theme: Theme;
  readonly now: number;
  /** The name of the key of an action, such as `Ctrl+D`. */
  keyOf(action: string): string;
  /** A view that shows a running time says so; the screen is then drawn again each second. */
  clock(): number;
};
