/** Actions on the selected row. */
import type { App } from "../app-api.ts";
import type { ListRow } from "../rows.ts";
import type { Action, Layer } from "./action.ts";

type Kind = ListRow["kind"];

/** An action on the selected row, if it is of this kind. */
export function onRow<K extends Kind>(
  options: Pick<Action, "id" | "title" | "keys" | "hint"> & { layer?: Layer; kind: K },
  run: (app: App, row: Extract<ListRow, { kind: K }>) => void,
  when: (row: Extract<ListRow, { kind: K }>) => boolean = () => true,
): Action {
  const { kind, layer = "list", ...rest } = options;
  const found = (app: App) => {
    const row = app.row();
    return row !== null && row.kind === kind && when(row as Extract<ListRow, { kind: K }>)
      ? (row as Extract<ListRow, { kind: K }>)
      : null;
  };
  return {
    ...rest,
    layer,
    when: (app) => found(app) !== null,
    run(app) {
      const row = found(app);
      if (row !== null) run(app, row);
    },
  };
}
