/** Dialogs: what a key does to one, and its rows. An open dialog takes all keys. */

import { plain, plainLine } from "@aegis/lib/plain-text.ts";
import { fuzzyFilter } from "@earendil-works/pi-tui/dist/fuzzy.js";
import { decodePrintableKey, isKeyRepeat, matchesKey } from "@earendil-works/pi-tui/dist/keys.js";
import type { Theme } from "./theme.ts";
import type { Dialog, PickItem } from "./ui.ts";
import { around, cut, ends } from "./view/layout.ts";
import { wrap } from "./view/transcript.ts";

/** The dialog after a key; null if it closed. `run` is what to do after closing it. */
export type DialogStep = { readonly dialog: Dialog | null; readonly run?: () => void };

const pasteStart = "\u001b[200~";
const pasteEnd = "\u001b[201~";
const pageLines = 10;

export function dialogKey(dialog: Dialog, data: string): DialogStep {
  if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) return { dialog: null };
  switch (dialog.kind) {
    case "confirm":
      // A key that is held down must not confirm what it opened.
      if (isKeyRepeat(data)) return { dialog };
      if (data === "y" || matchesKey(data, "enter")) return { dialog: null, run: dialog.run };
      return { dialog: data === "n" ? null : dialog };
    case "input": {
      if (matchesKey(data, "enter")) return { dialog: null, run: () => dialog.run(dialog.text) };
      return { dialog: { ...dialog, text: typed(dialog.text, data) } };
    }
    case "pick":
      return pickKey(dialog, data);
    case "text":
      return textKey(dialog, data);
  }
}

function pickKey(dialog: Dialog & { kind: "pick" }, data: string): DialogStep {
  const found = matches(dialog);
  if (matchesKey(data, "enter") || matchesKey(data, "tab")) {
    const item = found[dialog.at];
    return item === undefined ? { dialog } : { dialog: null, run: item.run };
  }
  const step = stepOf(data);
  if (step !== 0) return { dialog: { ...dialog, at: clamp(dialog.at + step, found.length) } };
  const text = typed(dialog.text, data);
  return { dialog: text === dialog.text ? dialog : { ...dialog, text, at: 0 } };
}

function textKey(dialog: Dialog & { kind: "text" }, data: string): DialogStep {
  if (data === "q" || matchesKey(data, "enter")) return { dialog: null };
  const step = stepOf(data);
  return { dialog: { ...dialog, at: Math.max(0, dialog.at + step) } };
}

function stepOf(data: string): number {
  if (matchesKey(data, "up")) return -1;
  if (matchesKey(data, "down")) return 1;
  if (matchesKey(data, "pageUp")) return -pageLines;
  return matchesKey(data, "pageDown") ? pageLines : 0;
}

function typed(text: string, data: string): string {
  if (data.startsWith(pasteStart) && data.endsWith(pasteEnd)) {
    const pasted = data.slice(pasteStart.length, -pasteEnd.length);
    return text + plain(pasted).replaceAll("\n", " ");
  }
  if (matchesKey(data, "backspace")) return [...text].slice(0, -1).join("");
  if (matchesKey(data, "ctrl+u")) return "";
  const character = decodePrintableKey(data) ?? (/^\P{Cc}+$/u.test(data) ? data : "");
  return text + plain(character);
}

function matches({ items, text }: Dialog & { kind: "pick" }): readonly PickItem[] {
  return text === "" ? items : fuzzyFilter([...items], text, ({ label, about }) => `${label} ${about}`);
}

function clamp(at: number, count: number): number {
  return Math.max(0, Math.min(at, count - 1));
}

/** The screen with the dialog on top. */
export function withDialog(rows: readonly string[], dialog: Dialog, theme: Theme, width: number): string[] {
  const inner = Math.max(10, Math.min(width - 4, dialog.kind === "text" ? 110 : 76));
  const height = Math.max(1, rows.length - 6);
  const body = dialogRows(dialog, theme, inner, height);
  const title = ` ${cut(plainLine(dialog.title), inner - 2)} `;
  const rule = (text: string) => text + "─".repeat(Math.max(0, inner + 2 - [...text].length));
  const box = [
    `┌${rule(title)}┐`,
    ...body.map((line) => `│ ${ends(line, " ", inner)} │`),
    `└${"─".repeat(inner + 2)}┘`,
  ];
  const top = Math.max(1, Math.floor((rows.length - box.length) / 3));
  const left = " ".repeat(Math.max(0, Math.floor((width - inner - 4) / 2)));
  return rows.map((row, index) => {
    const line = box[index - top];
    return line === undefined ? row : cut(`${left}${line}`, width);
  });
}

function dialogRows(dialog: Dialog, theme: Theme, width: number, height: number): string[] {
  switch (dialog.kind) {
    case "confirm":
      return [
        ...dialog.lines.flatMap((line) => wrap(plain(line.slice(0, 2_000)), width)).slice(0, height - 2),
        "",
        `${theme.paint("bold", "y")} yes   ${theme.paint("bold", "n")} no   ${theme.paint("dim", "Esc closes")}`,
      ];
    case "input":
      return [...inputRows(dialog.text, theme, width), "", theme.paint("dim", "Enter confirms, Esc closes")];
    case "pick": {
      const found = matches(dialog);
      const room = Math.max(1, Math.min(12, height - 3));
      const { from, shown } = around(found, dialog.at, room);
      return [
        ...inputRows(dialog.text, theme, width),
        "",
        ...shown.map(({ label, about }, index) => {
          const isSelected = from + index === dialog.at;
          const name = cut(plainLine(label), Math.max(12, about === "" ? width - 2 : Math.floor(width * 0.5)));
          const line = `${isSelected ? "▸" : " "} ${name}  ${theme.paint("dim", plainLine(about))}`;
          return isSelected ? theme.paint("bold", cut(line, width)) : cut(line, width);
        }),
        ...(found.length === 0 ? [theme.paint("dim", "nothing found")] : []),
      ];
    }
    case "text": {
      const lines = plain(dialog.text.slice(0, 400_000))
        .split("\n")
        .flatMap((line) => wrap(line.slice(0, 20_000), width));
      const room = Math.max(1, height - 2);
      const at = Math.min(dialog.at, Math.max(0, lines.length - room));
      const end = Math.min(lines.length, at + room);
      return [
        ...lines.slice(at, end),
        "",
        theme.paint("dim", `lines ${at + 1} to ${end} of ${lines.length} · ↑↓ PgUp PgDn · Esc closes`),
      ];
    }
  }
}

function inputRows(text: string, theme: Theme, width: number): string[] {
  const rows = wrap(`> ${text}`, Math.max(1, width - 1)).slice(-4);
  const last = rows.length - 1;
  return rows.map((row, index) => (index === last ? `${row}${theme.paint("selected", " ")}` : row));
}
