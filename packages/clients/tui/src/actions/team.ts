/** Actions on sessions and groups, and the views of the team. */
import type { Card } from "@aegis/client/model/board.ts";
import type { ApiOutput } from "@aegis/contract/api.ts";
import type { App } from "../app-api.ts";
import type { Action } from "./action.ts";
import { newSession } from "./global.ts";
import { sessionOfSelected } from "./lists.ts";
import { onRow } from "./on-row.ts";

/** An action on the open session of the selected row: a session, or the one of a subagent. */
function onSession(
  options: Pick<Action, "id" | "title" | "keys" | "hint">,
  run: (app: App, session: Card) => void,
  when: (session: Card) => boolean = () => true,
): Action {
  const found = (app: App) => {
    const row = app.row();
    const id = row?.kind === "session" || row?.kind === "subagent" ? sessionOfSelected(app) : null;
    const session = id === null ? undefined : app.store.model.state.cards[id];
    return session !== undefined && session.state !== "closed" && when(session) ? session : null;
  };
  return {
    ...options,
    layer: "list",
    when: (app) => found(app) !== null,
    run(app) {
      const session = found(app);
      if (session !== null) run(app, session);
    },
  };
}

export const teamActions: readonly Action[] = [
  onSession(
    { id: "session.interrupt", title: "interrupt", keys: ["x"], hint: 2 },
    (app, { id }) => app.attempt(app.client.call("interruptSession", { path: { session: id } }), "interrupted"),
    ({ state }) => state === "working",
  ),
  onSession({ id: "session.fork", title: "fork", keys: ["f"], hint: 4 }, (app, { id }) =>
    app.attempt(
      app.client
        .call("forkSession", { path: { session: id }, body: {} })
        .then((answer) => app.openSession(answer.session.id)),
    ),
  ),
  onSession({ id: "session.rename", title: "rename", keys: ["e"] }, (app, { id, handle: old }) =>
    app.input(`New handle of ${old}`, old, (handle) =>
      app.attempt(app.client.call("updateSession", { path: { session: id }, body: { handle } }), "renamed"),
    ),
  ),
  onSession({ id: "session.close.row", title: "close", keys: ["c"], hint: 5 }, (app, { id, handle }) =>
    app.confirm(`Close ${handle}?`, ["Its turn ends and its waiting messages are refused."], () =>
      app.attempt(app.client.call("closeSession", { path: { session: id } }), `closed ${handle}`),
    ),
  ),
  {
    id: "session.changes",
    title: "changed files",
    layer: "list",
    keys: ["d"],
    hint: 24,
    when: (app) => sessionOfSelected(app) !== null,
    run(app) {
      const session = sessionOfSelected(app);
      if (session !== null) showChanges(app, session);
    },
  },
  onRow({ id: "group.broadcast", title: "broadcast", keys: ["b"], hint: 2, kind: "group" }, (app, { group }) =>
    app.input(`Ask every member of ${group.name} to`, "", (objective) => {
      if (objective.trim() !== "")
        app.attempt(app.client.call("broadcastGroup", { path: { group: group.name }, body: { objective } }), "sent");
    }),
  ),
  onRow({ id: "group.dissolve", title: "dissolve", keys: ["D"], hint: 6, kind: "group" }, (app, { group }) =>
    app.confirm(`Dissolve the group ${group.name}?`, ["Its members are closed."], () =>
      app.attempt(app.client.call("dissolveGroup", { path: { group: group.name } }), "dissolved"),
    ),
  ),
  {
    id: "team.view",
    title: "tree or flow",
    layer: "team",
    keys: ["tab"],
    hint: 3,
    run: (app) =>
      app.update({
        teamView: app.ui.teamView === "tree" ? "flow" : "tree",
        selected: { ...app.ui.selected, team: "" },
      }),
  },
  onRow(
    { id: "hop.open", title: "open message", keys: ["enter"], hint: 1, layer: "team", kind: "hop" },
    (app, { hop }) => app.text(`${hop.label} from ${hop.from} to ${hop.to}`, hop.text),
  ),
  { id: "team.spawn", title: "spawn", layer: "team", keys: ["s"], hint: 6, run: newSession },
];

/** The files that a session changed, with the patch. */
function showChanges(app: App, session: Card["id"]): void {
  app.attempt(
    app.client
      .call("getChanges", { path: { session }, query: { patch: "true" } })
      .then(({ changes }) => app.text(`files that ${changes.handle} changed`, changesText(changes))),
  );
}

function changesText(changes: ApiOutput<"getChanges">["changes"]): string {
  if (!changes.git)
    return "This is not a git project, so Aegis knows only the edits that the conversation shows. Run: git init";
  if (changes.files.length === 0) return "It changed no files.";
  const files = changes.files.map(({ path, status, added, deleted }) => `${status}  ${path}  +${added} −${deleted}`);
  const more = changes.omitted === 0 ? [] : [`and ${changes.omitted} more`];
  return [...files, ...more, ...changes.problems, "", changes.patch ?? ""].join("\n");
}
