/** Actions on the selected row. */
import type { App } from "../app-api.ts";
import type { Row } from "../rows.ts";
import type { Action, Layer } from "./action.ts";

type Kind = Row["kind"];

/** An action on the selected row, if it is of this kind. */
export function onRow<K extends Kind>(
  options: Pick<Action, "id" | "title" | "keys" | "hint"> & { layer?: Layer; kind: K },
  run: (app: App, row: Extract<Row, { kind: K }>) => void,
  when: (row: Extract<Row, { kind: K }>) => boolean = () => true,
): Action {
  const { kind, layer = "list", ...rest } = options;
  const found = (app: App) => {
    const row = app.row();
    return row !== null && row.kind === kind && when(row as Extract<Row, { kind: K }>)
      ? (row as Extract<Row, { kind: K }>)
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
