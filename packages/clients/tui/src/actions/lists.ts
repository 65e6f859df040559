/** Actions of every list screen: selecting, filtering, and opening what is selected. */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { App } from "../app-api.ts";
import { type ListRow, sessionOfRow } from "../rows.ts";
import { createTheme } from "../theme.ts";
import { detailLines } from "../view/detail.ts";
import type { Action } from "./action.ts";

const wholeWidth = 100;

export const listActions: readonly Action[] = [
  { id: "select.up", title: "up", layer: "list", keys: ["up", "k"], run: (app) => app.select(-1) },
  { id: "select.down", title: "down", layer: "list", keys: ["down", "j"], run: (app) => app.select(1) },
  { id: "select.page_up", title: "page up", layer: "list", keys: ["pageUp"], run: (app) => app.select(-10) },
  { id: "select.page_down", title: "page down", layer: "list", keys: ["pageDown"], run: (app) => app.select(10) },
  { id: "select.first", title: "first", layer: "list", keys: ["home", "g"], run: (app) => app.select("first") },
  { id: "select.last", title: "last", layer: "list", keys: ["end", "G"], run: (app) => app.select("last") },
  {
    id: "filter",
    title: "filter",
    layer: "list",
    keys: ["/"],
    run: (app) => app.input("Show only rows with", app.ui.filter, (filter) => app.update({ filter })),
  },
  { id: "back", title: "back", layer: "list", keys: ["escape", "q"], hint: 10, run: (app) => app.back() },
  { id: "help.list", title: "keys", layer: "list", keys: ["?"], hint: 99, run: (app) => app.help() },
  {
    id: "open.session",
    title: "open session",
    layer: "list",
    keys: ["enter", "o"],
    hint: 1,
    when: (app) => sessionOfSelected(app) !== null,
    run(app) {
      const session = sessionOfSelected(app);
      if (session !== null) app.openSession(session);
    },
  },
  {
    id: "row.detail",
    title: "whole detail",
    layer: "dashboard",
    keys: ["v"],
    hint: 25,
    when: (app) => app.row() !== null,
    run(app) {
      const row = app.row();
      if (row === null) return;
      const { title, lines } = detailLines(
        {
          model: app.store.model,
          ui: app.ui,
          theme: createTheme({ depth: "none", scheme: "dark", ascii: false }),
          now: app.now,
          keyOf: (action) => app.keyOf(action),
          clock: () => app.now,
        },
        row,
        wholeWidth,
      );
      app.text(title, lines.join("\n"));
    },
  },
  {
    id: "copy.id",
    title: "copy the id",
    layer: "list",
    keys: ["Y"],
    when: (app) => idOf(app.row()) !== null,
    run(app) {
      const id = idOf(app.row());
      if (id !== null) app.copy(id);
    },
  },
];

/** The session that belongs to the selected row, if the app knows it. */
export function sessionOfSelected(app: App): SessionId | null {
  const row = app.row();
  const id = row === null ? null : sessionOfRow(row);
  if (id === null) return null;
  return app.store.model.state.cards[id as SessionId] === undefined ? null : (id as SessionId);
}

function idOf(row: ListRow | null): string | null {
  switch (row?.kind) {
    case "task":
      return row.task.id;
    case "run":
      return row.run.id;
    case "subagent":
      return row.subagent.run_id;
    case "session":
      return row.session.id;
    case "ask":
      return row.open.ask.id;
    default:
      return null;
  }
}
