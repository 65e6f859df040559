/** Hints, help and palette. All of them come from the actions, so that every key they show works. */

import { shortId } from "@aegis/client/views/words.ts";
import { headline } from "@aegis/contract/headline.ts";
import type { Action } from "./actions/action.ts";
import type { App } from "./app-api.ts";
import type { CommandItem } from "./complete.ts";
import { activityOf } from "./facts/activity.ts";
import { dashboard } from "./facts/dashboard.ts";
import { openSessions } from "./facts/team.ts";
import { type Keymap, keyName } from "./keymap.ts";
import type { PickItem } from "./ui.ts";
import type { Hint } from "./view/frame.ts";

/** The keys that apply now. A key that a nearer layer takes is not shown. */
export function hintsFor(app: App, keymap: Keymap): Hint[] {
  const hints = usable(app, keymap).filter(({ action }) => action.hint !== undefined);
  hints.sort((a, b) => (a.action.hint ?? 0) - (b.action.hint ?? 0));
  const always: Hint[] =
    app.ui.screen === "session" && app.editorText() !== "" ? [{ keys: app.keyOf("help"), title: "keys" }] : [];
  return [...hints.map(({ action, key }) => ({ keys: keyName(key), title: shortTitle(action) })), ...always];
}

function shortTitle({ title }: Action): string {
  return title.split(";")[0] ?? title;
}

function usable(app: App, keymap: Keymap): { action: Action; key: string }[] {
  const taken = new Set<string>();
  return keymap.active(app).flatMap((action) => {
    const keys = keymap.keysOf(action.id).filter((key) => !taken.has(key));
    for (const key of keys) taken.add(key);
    const [key] = keys;
    return key === undefined ? [] : [{ action, key }];
  });
}

export function helpText(app: App, keymap: Keymap): string {
  const lines = usable(app, keymap).map(({ action }) => {
    const keys = keymap.keysOf(action.id).map(keyName).join(", ");
    return `${keys.padEnd(22)} ${action.title}`;
  });
  const editing = ["", "In the editor: ↑ ↓ earlier messages, @ completes files, / completes commands."];
  return [...lines, ...(app.ui.screen === "session" ? editing : [])].join("\n");
}

/** Opens immediately; slash commands follow when the daemon has listed them. */
export function openPalette(app: App, keymap: Keymap, commands: Promise<readonly CommandItem[]>): void {
  const items = paletteItems(app, keymap);
  app.pick("Go to, or do", items);
  const opened = app.ui.dialog;
  const add = (found: readonly CommandItem[]) => {
    const { dialog } = app.ui;
    if (dialog?.kind !== "pick" || opened?.kind !== "pick" || dialog.items !== opened.items) return;
    app.update({ dialog: { ...dialog, items: [...items, ...commandItems(app, found)] } });
  };
  commands.then(add, () => {});
}

/** A command is put into the editor, so that its arguments can be typed. */
function commandItems(app: App, commands: readonly CommandItem[]): PickItem[] {
  return commands.map(({ name, about }) => ({
    label: `/${name}`,
    about,
    run() {
      app.show("session");
      app.setEditor(`/${name} `);
    },
  }));
}

function paletteItems(app: App, keymap: Keymap): PickItem[] {
  const { state, lists } = app.store.model;
  const bands = dashboard(state, lists);
  const onDashboard = (key: string) => () => {
    app.show("dashboard");
    app.update({ selected: { ...app.ui.selected, dashboard: key } });
  };
  return [
    ...openSessions(state).map((session) => ({
      label: `session ${headline(session)}`,
      about: `${session.agent} · ${activityOf(state, session).state} · ${session.handle}`,
      run: () => app.openSession(session.id),
    })),
    ...keymap.actions
      .filter((action) => action.palette === true && (action.when?.(app) ?? true))
      .map((action) => ({
        label: action.title,
        about: keymap.keysOf(action.id).map(keyName).join(", "),
        run: () => action.run(app),
      })),
    ...lists.agents.map(({ slug, plugin, harness }) => {
      const agent = plugin === null ? slug : `${plugin}:${slug}`;
      return {
        label: `spawn ${agent}`,
        about: `agent · ${harness}`,
        run: () =>
          app.attempt(
            app.client.call("createSession", { body: { agent } }).then(({ session }) => app.openSession(session.id)),
          ),
      };
    }),
    ...bands.workflows.map(({ run, key }) => ({
      label: `run ${run.workflow} ${shortId(run.id)}`,
      about: run.status,
      run: onDashboard(key),
    })),
    ...[...bands.inFlight, ...bands.queued, ...bands.recent].flatMap((row) =>
      row.kind === "task"
        ? [
            {
              label: `task ${row.task.queue} ${shortId(row.task.id)}`,
              about: `${row.task.status} · ${row.task.payload}`,
              run: onDashboard(row.key),
            },
          ]
        : [],
    ),
  ];
}
