/** The state of the screens themselves: what is open, selected and folded. Plain data. */
import type { SessionId } from "@aegis/contract/ids.ts";

export type ScreenName = "session" | "dashboard" | "needs" | "team" | "agents";

export type FlashLevel = "info" | "error";

export type PickItem = { readonly label: string; readonly about: string; readonly run: () => void };

export type Dialog =
  | { readonly kind: "confirm"; readonly title: string; readonly lines: readonly string[]; readonly run: () => void }
  | {
      readonly kind: "input";
      readonly title: string;
      readonly text: string;
      readonly run: (text: string) => void;
    }
  | {
      readonly kind: "pick";
      readonly title: string;
      readonly items: readonly PickItem[];
      readonly text: string;
      readonly at: number;
    }
  | { readonly kind: "text"; readonly title: string; readonly text: string; readonly at: number };

export type Ui = {
  readonly screen: ScreenName;
  readonly session: SessionId | null;
  /** The key of the selected row, by screen. */
  readonly selected: Readonly<Partial<Record<ScreenName, string>>>;
  readonly filter: string;
  /** Tool calls and thinking are shown in full. */
  readonly unfolded: boolean;
  readonly teamView: "tree" | "flow";
  readonly dialog: Dialog | null;
  readonly flash: { readonly level: FlashLevel; readonly text: string } | null;
};

export const firstUi: Ui = {
  screen: "session",
  session: null,
  selected: {},
  filter: "",
  unfolded: false,
  teamView: "tree",
  dialog: null,
  flash: null,
};
